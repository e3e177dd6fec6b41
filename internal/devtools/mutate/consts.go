package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// constant makes an integer one larger, and a boolean the other one.
func (f *finder) constant(e ast.Expr, tv types.TypeAndValue) {
	if f.info.Types[f.parentExpr(e)].Value != nil {
		return // a part of a larger constant
	}
	b, ok := tv.Type.(*types.Basic)
	if !ok {
		return // of an enumeration
	}
	switch parent := f.parents[e].(type) {
	case *ast.CaseClause:
		return
	case *ast.BinaryExpr:
		if len(compared[parent.Op]) > 1 || flags(parent, e) {
			return // the edge of the comparison is a mutant; one more flag says nothing
		}
	case *ast.ReturnStmt:
		placeholder := len(parent.Results) > 1 && f.zero(e)
		if b.Info()&types.IsBoolean != 0 || placeholder || f.fails(parent) {
			return // stmts.go has it, or the caller does not look at it
		}
	case *ast.AssignStmt, *ast.ParenExpr, *ast.ValueSpec:
		if b.Info()&types.IsBoolean != 0 {
			return // the assignment is removed
		}
	}
	typ := types.Default(b).(*types.Basic).Name()
	text := brief(f.text(e))
	switch {
	case tv.Value.Kind() == constant.Int && b.Info()&types.IsInteger != 0:
		id := f.add(e, fmt.Sprintf("%s -> %s+1 in %s", text, text, brief(f.around(e))))
		f.edit(e, []int{id}, func(inner []string) string {
			return fmt.Sprintf("_mutInt(%d, %s(%s))", id, typ, inner[0])
		})
	case b.Info()&types.IsBoolean != 0:
		id := f.add(e, fmt.Sprintf("%s -> !%s in %s", text, text, brief(f.around(e))))
		f.edit(e, []int{id}, func(inner []string) string {
			return fmt.Sprintf("(%s != _mutAt(%d))", inner[0], id)
		})
	}
}

// flags reports whether e is a named set of bits, or what such a set is compared with.
func flags(parent *ast.BinaryExpr, e ast.Expr) bool {
	switch parent.Op {
	case token.AND, token.OR, token.AND_NOT:
		_, literal := e.(*ast.BasicLit)
		return !literal
	case token.EQL, token.NEQ:
		set, ok := ast.Unparen(parent.X).(*ast.BinaryExpr)
		return ok && set.Op == token.AND
	}
	return false
}

// fails reports whether s returns an error, which leaves the other results without a meaning.
func (f *finder) fails(s *ast.ReturnStmt) bool {
	last := s.Results[len(s.Results)-1]
	return f.isError(last) && !f.zero(last)
}

func (f *finder) parentExpr(e ast.Expr) ast.Expr {
	p, _ := f.parents[e].(ast.Expr)
	return p
}

// around returns the text that says where a constant is used.
func (f *finder) around(e ast.Expr) string {
	p := f.parents[e]
	switch p := p.(type) {
	case *ast.ReturnStmt, *ast.AssignStmt, *ast.CallExpr, *ast.BinaryExpr, *ast.IndexExpr, *ast.SliceExpr,
		*ast.KeyValueExpr, *ast.ValueSpec:
		return f.text(p)
	case *ast.CompositeLit:
		if p.Type != nil {
			return f.text(p.Type) + token.LBRACE.String() + token.RBRACE.String()
		}
	}
	return "its place"
}
