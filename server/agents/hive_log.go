package agents

import (
	"math"

	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// filterID reads an id by which a list is filtered. A value that cannot be an id matches no entry.
func filterID(c *edge.Ctx, name string) (*uint64, *refuse.Refusal) {
	n, given, err := c.Int(name, 0, math.MinInt64, math.MaxInt64)
	if err != nil || !given {
		return nil, err
	}
	id := uint64(n)
	if n < 0 {
		id = math.MaxUint64
	}
	return &id, nil
}

// filterSec reads a bound of a period in Unix seconds.
func filterSec(c *edge.Ctx, name string) (*int64, *refuse.Refusal) {
	n, given, err := c.Int(name, 0, math.MinInt64, math.MaxInt64)
	if err != nil || !given {
		return nil, err
	}
	return &n, nil
}

// actionTypeNames lists the action types in the order of their constants.
var actionTypeNames = func() (names []string) {
	for t := range hive.ActionTypes {
		names = append(names, t.String())
	}
	return names
}()

// actionLogs serves GET /api/agents/action-logs.
func (s *Service) actionLogs(c *edge.Ctx) *refuse.Refusal {
	q, err := readLogQuery(c)
	if err != nil {
		return err
	}
	if rej := q.Check(); rej != nil {
		return rej
	}
	v := s.views()
	setAsOf(c, v.ledger.AsOf(v.nowNs))
	list := v.hive.Log(q)
	return sendFree(c, answerList(c, &list, q.Page, newLogRow))
}

// readLogQuery reads the parameters in the order of the table in
// docs/contract/api.md#hive-launchpad_base_url.
func readLogQuery(c *edge.Ctx) (q hive.LogQuery, err *refuse.Refusal) {
	if q.TokenID, err = filterID(c, "tokenId"); err != nil {
		return q, err
	}
	kind, err := c.Enum("actionType", actionTypeNames...)
	if err != nil {
		return q, err
	}
	if kind >= 0 {
		t := hive.ActionType(kind)
		q.Type = &t
	}
	tier, err := c.Enum("sourceTier", sourceTiers...)
	if err != nil {
		return q, err
	}
	if tier >= 0 {
		t := hive.Queen + hive.Tier(tier)
		q.Tier = &t
	}
	if q.Since, err = filterSec(c, "since"); err != nil {
		return q, err
	}
	if q.Until, err = filterSec(c, "until"); err != nil {
		return q, err
	}
	q.Page, err = hivePage(c, hive.DefaultLogPageSize)
	return q, err
}
