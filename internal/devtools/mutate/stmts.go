package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// stmt adds the mutants of a statement. Only one in a list can become two.
func (f *finder) stmt(s ast.Stmt) {
	list := f.listOf(s)
	if list == nil {
		return
	}
	switch s := s.(type) {
	case *ast.IncDecStmt:
		if s.Tok == token.INC {
			f.instead(s, f.text(s.X)+"--")
		} else {
			f.instead(s, f.text(s.X)+"++")
		}
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		f.instead(s, "")
	case *ast.BranchStmt:
		if s.Tok == token.BREAK || s.Tok == token.CONTINUE {
			f.instead(s, "")
		}
	case *ast.ReturnStmt:
		f.ret(s, list)
	}
}

// listOf returns the list that s is in, or nil.
func (f *finder) listOf(s ast.Stmt) []ast.Stmt {
	switch p := f.parents[s].(type) {
	case *ast.BlockStmt:
		return p.List
	case *ast.CaseClause:
		return p.Body
	case *ast.CommClause:
		if p.Comm != s {
			return p.Body
		}
	}
	return nil
}

// instead runs other in the place of s; "" is nothing.
func (f *finder) instead(s ast.Stmt, other string) {
	change := "remove " + brief(f.text(s))
	if other != "" {
		change = brief(f.text(s)) + " -> " + brief(other)
	}
	id := f.add(s, change)
	f.edit(s, []int{id}, func(inner []string) string {
		if other == "" {
			return fmt.Sprintf("if !_mutAt(%d) { %s }", id, inner[0])
		}
		return fmt.Sprintf("if _mutAt(%d) { %s } else { %s }", id, other, inner[0])
	})
}

// assigned holds what an operator of an assignment becomes.
var assigned = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.REM_ASSIGN: token.MUL_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	token.OR_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN,
	token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	token.AND_NOT_ASSIGN: token.OR_ASSIGN,
}

func (f *finder) assign(s *ast.AssignStmt) {
	if to, ok := assigned[s.Tok]; ok && !isText(f.info.TypeOf(s.Lhs[0])) {
		f.instead(s, f.text(s.Lhs[0])+" "+to.String()+" "+f.text(s.Rhs[0]))
		return
	}
	if s.Tok == token.DEFINE {
		return
	}
	for _, l := range s.Lhs {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
			f.instead(s, "")
			return
		}
	}
}

// ret makes a function return too late, the zero values, or the other boolean.
func (f *finder) ret(s *ast.ReturnStmt, list []ast.Stmt) {
	if f.results == nil || len(f.results.List) == 0 {
		body, _ := f.parents[s].(*ast.BlockStmt)
		if _, inFunc := f.parents[body].(*ast.FuncDecl); !inFunc || list[len(list)-1] != s {
			f.instead(s, "")
		}
		return
	}
	other := "return " + strings.Join(f.zeroes(), ", ")
	if len(s.Results) == 1 {
		tv := f.info.Types[s.Results[0]]
		if b, ok := tv.Type.Underlying().(*types.Basic); ok && b.Info()&types.IsBoolean != 0 {
			if tv.Value == nil {
				return // its operators and operands have mutants
			}
			other = fmt.Sprintf("return %t", !constant.BoolVal(tv.Value))
			f.beforehand(s, other, other)
			return
		}
	}
	for _, r := range s.Results {
		if !f.zero(r) {
			f.beforehand(s, other, "return zero values")
			return
		}
	}
	if len(s.Results) == 0 {
		f.beforehand(s, other, "return zero values")
	}
}

// beforehand returns by other before s does.
func (f *finder) beforehand(s ast.Stmt, other, change string) {
	id := f.add(s, brief(f.text(s))+" -> "+change)
	f.edit(s, []int{id}, func(inner []string) string {
		return fmt.Sprintf("if _mutAt(%d) { %s }; %s", id, other, inner[0])
	})
}

// zeroes returns an expression for the zero value of each result of the innermost function.
func (f *finder) zeroes() (out []string) {
	for _, field := range f.results.List {
		for range max(1, len(field.Names)) {
			out = append(out, "*new("+f.text(field.Type)+")")
		}
	}
	return out
}

// zero reports whether e is the zero value, written as one.
func (f *finder) zero(e ast.Expr) bool {
	switch tv := f.info.Types[e]; {
	case tv.IsNil():
		return true
	case tv.Value != nil:
		switch tv.Value.Kind() {
		case constant.Bool:
			return !constant.BoolVal(tv.Value)
		case constant.String:
			return constant.StringVal(tv.Value) == ""
		default:
			return constant.Sign(tv.Value) == 0
		}
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok || len(lit.Elts) > 0 {
		return false
	}
	_, isStruct := f.info.TypeOf(lit).Underlying().(*types.Struct)
	return isStruct
}
