package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// walk visits every node below root in the order of the text and adds its mutants.
func (f *finder) walk(root ast.Node) {
	var stack []ast.Node
	var results []*ast.FieldList
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if _, ok := top.(*ast.FuncLit); ok {
				f.results, results = results[len(results)-1], results[:len(results)-1]
			}
			return true
		}
		if len(stack) > 0 {
			f.parents[n] = stack[len(stack)-1]
		}
		if f.skips(n) {
			return false
		}
		stack = append(stack, n)
		f.visit(n)
		if lit, ok := n.(*ast.FuncLit); ok {
			results = append(results, f.results)
			f.results = lit.Type.Results
		}
		return true
	})
}

// skips reports whether n and what is below it have no mutants.
func (f *finder) skips(n ast.Node) bool {
	parent := f.parents[n]
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR
	case *ast.FuncType, *ast.ArrayType, *ast.MapType, *ast.StructType, *ast.InterfaceType, *ast.ChanType,
		*ast.FieldList:
		return true
	case *ast.CallExpr:
		return f.builtin(n) == "panic"
	}
	switch p := parent.(type) {
	case *ast.IfStmt: // a check of an invariant
		return onlyPanics(p.Body) && (n == p.Cond || n == p.Body)
	case *ast.ForStmt:
		return n == p.Post
	case *ast.KeyValueExpr: // a field, or a key that has to be constant
		return n == p.Key
	case *ast.CallExpr:
		return f.capacity(p, n)
	}
	return false
}

// capacity reports whether n is the size of memory that a call reserves.
func (f *finder) capacity(call *ast.CallExpr, n ast.Node) bool {
	switch name := f.builtin(call); {
	case name == "make" && len(call.Args) == 3:
		return n == call.Args[2]
	case name == "make" && len(call.Args) == 2:
		_, isMap := f.info.TypeOf(call.Args[0]).Underlying().(*types.Map)
		return isMap && n == call.Args[1]
	}
	return false
}

// builtin returns the name of the built-in function that is called, or "".
func (f *finder) builtin(call *ast.CallExpr) string {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := f.info.Uses[id].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

func onlyPanics(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	e, ok := body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

func (f *finder) visit(n ast.Node) {
	if s, ok := n.(ast.Stmt); ok {
		f.stmt(s)
		return
	}
	e, ok := n.(ast.Expr)
	if !ok || f.isType(e) {
		return
	}
	if tv := f.info.Types[e]; tv.Value != nil {
		f.constant(e, tv)
		return
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.binary(e)
	case *ast.CallExpr:
		f.call(e)
	case *ast.UnaryExpr:
		if e.Op == token.SUB {
			id := f.add(e, brief(f.text(e))+" -> "+brief(f.text(e.X)))
			f.edit(e, []int{id}, helper("_mutNeg", "", id), e.X)
		}
	}
	if f.condition(e) {
		f.negate(e)
	}
}

func (f *finder) isType(e ast.Expr) bool { return f.info.Types[e].IsType() }
