#include "textflag.h"

// func fetch(addr *uintptr, n int)
TEXT ·fetch(SB), NOSPLIT, $0-16
	MOVD addr+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R1<<3, R0, R1
	B    check

next:
	MOVD.P 8(R0), R2
	PRFM   (R2), PLDL1KEEP

check:
	CMP R1, R0
	BLO next
	RET
