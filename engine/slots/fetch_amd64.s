#include "textflag.h"

// func fetch(addr *uintptr, n int)
TEXT ·fetch(SB), NOSPLIT, $0-16
	MOVQ addr+0(FP), AX
	MOVQ n+8(FP), CX
	LEAQ (AX)(CX*8), CX
	JMP  check

next:
	MOVQ       (AX), DX
	PREFETCHT0 (DX)
	ADDQ       $8, AX

check:
	CMPQ AX, CX
	JLO  next
	RET
