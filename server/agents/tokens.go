package agents

import (
	"bytes"
	"math"
	"strconv"

	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

var hdrAsOf = []byte("X-As-Of")

// setAsOf sets the header X-As-Of. A client sends its block as asOf with the requests for the next pages
// (docs/contract/launchpad.md#tokens).
func setAsOf(c *edge.Ctx, block int64) {
	c.Response.Header.SetCanonical(hdrAsOf, strconv.AppendInt(nil, block, 10))
}

// asOf returns the parameter asOf, nil when it is missing.
func asOf(c *edge.Ctx) (*int64, *refuse.Refusal) {
	block, given, err := c.Int("asOf", 0, 0, math.MaxInt64)
	if err != nil || !given {
		return nil, err
	}
	return &block, nil
}

// tokens serves GET /api/launchpad/tokens.
func (s *Service) tokens(c *edge.Ctx) *refuse.Refusal {
	var q launchpad.ListQuery
	var err *refuse.Refusal
	if q.Page, q.PageSize, err = c.Page("page", launchpad.DefaultPageSize); err != nil {
		return err
	}
	sort, err := c.Enum("sort", tokenSorts...)
	if err != nil {
		return err
	}
	q.Sort = launchpad.Sort(max(sort, 0))
	if q.Boosted, err = c.Bool("boosted", false); err != nil {
		return err
	}
	side, err := c.Enum("poolSide", poolSides...)
	if err != nil {
		return err
	}
	if side >= 0 {
		only := launchpad.Side(side)
		q.Side = &only
	}
	if q.AsOf, err = asOf(c); err != nil {
		return err
	}
	after, err := c.Row("page")
	if err != nil {
		return err
	}
	q.After = uint32(min(after, math.MaxUint32))
	if rej := q.Check(); rej != nil {
		return rej
	}
	v := s.views()
	list := v.ledger.Tokens(v.nowNs, q)
	setAsOf(c, list.AsOf)
	c.NextRow(uint64(list.Next))
	return sendFree(c, answerPage(list.Items, list.TotalItems, q.Page, q.PageSize, func(t **launchpad.Token) tokenRow {
		return newTokenRow(*t, v.worker(*t))
	}))
}

func noToken() *refuse.Refusal {
	return refuse.Missing("id", "No token has this address or registry id.")
}

// token serves GET /api/launchpad/tokens/:id.
func (s *Service) token(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return noToken()
	}
	c.PlainDecimals()
	body := encodeJSON(newTokenAnswer(t, v.worker(t)))
	if t.Metadata != "" {
		// The encoder would remove white space from metadata, which must stay as the client sent it. The
		// placeholder occurs only once, because quotes within strings are escaped.
		body = bytes.Replace(body, []byte(`"metadata":{}`), []byte(`"metadata":`+t.Metadata), 1)
	}
	c.Private(body)
	return nil
}

var emptyObject = []byte("{}")

// pool serves GET /api/launchpad/tokens/:id/pool.
func (s *Service) pool(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return noToken()
	}
	return sendFree(c, newPoolAnswer(t))
}

// tokenWorker serves GET /api/launchpad/tokens/:id/worker.
func (s *Service) tokenWorker(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return noToken()
	}
	return sendFree(c, newTokenWorkerAnswer(t, v.worker(t), v.hive.Recent(t.AgentNFT())))
}
