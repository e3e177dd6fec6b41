package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// compared holds what a comparison becomes: the other side of its edge, and its opposite.
var compared = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ},
	token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ},
	token.NEQ: {token.EQL},
}

// calculated holds the helper of an operator, and the operator that the helper puts in its
// place (helpers.go.txt).
var calculated = map[token.Token]struct {
	helper string
	to     token.Token
}{
	token.ADD:     {"_mutAdd", token.SUB},
	token.SUB:     {"_mutSub", token.ADD},
	token.MUL:     {"_mutMul", token.QUO},
	token.QUO:     {"_mutQuo", token.MUL},
	token.REM:     {"_mutRem", token.MUL},
	token.AND:     {"_mutAnd", token.OR},
	token.OR:      {"_mutOr", token.AND},
	token.XOR:     {"_mutXor", token.AND},
	token.AND_NOT: {"_mutAndNot", token.AND},
	token.SHL:     {"_mutShl", token.SHR},
	token.SHR:     {"_mutShr", token.SHL},
}

func (f *finder) binary(e *ast.BinaryExpr) {
	x, y := f.text(e.X), f.text(e.Y)
	if e.Op == token.LAND || e.Op == token.LOR {
		f.drop(e, x, y)
		return
	}
	become := func(to token.Token) (text, change string) {
		text = x + " " + to.String() + " " + y
		return text, brief(f.text(e)) + " -> " + brief(text)
	}
	if to, ok := compared[e.Op]; ok {
		var ids []int
		var texts []string
		for _, op := range to {
			text, change := become(op)
			ids, texts = append(ids, f.add(e, change)), append(texts, text)
		}
		f.choose(e, ids, texts)
		return
	}
	to, ok := calculated[e.Op]
	if !ok || isText(f.info.TypeOf(e)) {
		return
	}
	_, change := become(to.to)
	id := f.add(e, change)
	f.edit(e, []int{id}, helper(to.helper, f.basic(e), id), e.X, e.Y)
}

// drop leaves out one operand of a connective. An operand that is a chain of the same
// connective loses its own operands one at a time.
func (f *finder) drop(e *ast.BinaryExpr, x, y string) {
	ids, texts := []int{f.add(e.Y, brief(f.text(e))+" -> "+brief(x))}, []string{x}
	if inner, ok := ast.Unparen(e.X).(*ast.BinaryExpr); !ok || inner.Op != e.Op {
		ids, texts = append(ids, f.add(e.X, brief(f.text(e))+" -> "+brief(y))), append(texts, y)
	}
	f.choose(e, ids, texts)
}

// call leaves out an argument of min and max, and a call that returns an error and nothing
// else.
func (f *finder) call(e *ast.CallExpr) {
	text := brief(f.text(e))
	if name := f.builtin(e); (name == "min" || name == "max") && len(e.Args) == 2 {
		first := f.add(e, text+" -> "+brief(f.text(e.Args[0])))
		second := f.add(e, text+" -> "+brief(f.text(e.Args[1])))
		f.edit(e, []int{first, second}, helper("_mut"+name, f.basic(e), first), e.Args[0], e.Args[1])
		return
	}
	switch f.parents[e].(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.ReturnStmt: // stmts.go has them
		return
	}
	if !f.isError(e) || f.makesError(e) {
		return
	}
	id := f.add(e, text+" -> nil")
	f.edit(e, []int{id}, func(inner []string) string {
		return fmt.Sprintf("func() error { if _mutAt(%d) { return nil }; return %s }()", id, inner[0])
	})
}

func (f *finder) isError(e ast.Expr) bool {
	t, ok := f.info.TypeOf(e).(*types.Named)
	return ok && t.Obj().Pkg() == nil && t.Obj().Name() == "error"
}

// makesError reports whether a call builds an error and does nothing else.
func (f *finder) makesError(e *ast.CallExpr) bool {
	sel, ok := e.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := f.info.Uses[sel.Sel].(*types.Func)
	return ok && fn.Pkg() != nil && (fn.Pkg().Path() == "fmt" || fn.Pkg().Path() == "errors")
}

// choose replaces the boolean expression e by one of texts while one of ids is on.
func (f *finder) choose(e ast.Expr, ids []int, texts []string) {
	f.edit(e, ids, func(inner []string) string {
		var b strings.Builder
		b.WriteString("(")
		for i, id := range ids {
			fmt.Fprintf(&b, "_mutAt(%d) && (%s) || ", id, texts[i])
		}
		fmt.Fprintf(&b, "_mutOff(%d, %d) && (%s))", ids[0], ids[len(ids)-1], inner[0])
		return b.String()
	})
}

// helper returns a writer of a call that receives the number of a mutant and the operands.
// The type of the operands is left to inference when it is "".
func helper(name, typ string, id int) func(inner []string) string {
	if typ != "" {
		name += "[" + typ + "]"
	}
	return func(inner []string) string { return fmt.Sprintf("%s(%d, %s)", name, id, strings.Join(inner, ", ")) }
}

// basic returns the name of e's type when that is a predeclared one, else "".
func (f *finder) basic(e ast.Expr) string {
	if b, ok := f.info.TypeOf(e).(*types.Basic); ok && b.Info()&types.IsUntyped == 0 {
		return b.Name()
	}
	return ""
}

func isText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return !ok || b.Info()&types.IsNumeric == 0
}

// condition reports whether a decision depends on e and no operator of e has a mutant that
// turns the decision round.
func (f *finder) condition(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BinaryExpr, *ast.ParenExpr, *ast.FuncLit:
		return false
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return false
		}
	}
	if t, ok := f.info.TypeOf(e).(*types.Basic); !ok || t.Kind() != types.Bool {
		return false
	}
	child := ast.Node(e)
	for {
		parent := f.parents[child]
		switch p := parent.(type) {
		case *ast.ParenExpr:
			child = p
			continue
		case *ast.UnaryExpr:
			return p.Op == token.NOT
		case *ast.BinaryExpr:
			return p.Op == token.LAND || p.Op == token.LOR
		case *ast.IfStmt, *ast.ForStmt, *ast.ReturnStmt:
			return true
		case *ast.CaseClause:
			sw, ok := f.parents[f.parents[p]].(*ast.SwitchStmt)
			return ok && sw.Tag == nil
		}
		return false
	}
}

func (f *finder) negate(e ast.Expr) {
	id := f.add(e, brief(f.text(e))+" -> !"+brief(f.text(e)))
	f.edit(e, []int{id}, func(inner []string) string { return fmt.Sprintf("(%s != _mutAt(%d))", inner[0], id) })
}
