package agents

import (
	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

// overview serves GET /api/agents/overview.
func (s *Service) overview(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	o := v.hive.Overview(v.nowNs)
	return sendFree(c, newOverviewAnswer(&o))
}

// hivePage reads page and pageSize of the hive's lists.
func hivePage(c *edge.Ctx, defSize int64) (p hive.Page, err *refuse.Refusal) {
	if p.Page, p.PageSize, err = c.Page("page", defSize); err != nil {
		return p, err
	}
	p.After, err = c.Row("page")
	return p, err
}

// workers serves GET /api/agents/workers.
func (s *Service) workers(c *edge.Ctx) *refuse.Refusal {
	var q hive.WorkerQuery
	var err *refuse.Refusal
	if q.Page, err = hivePage(c, hive.DefaultPageSize); err != nil {
		return err
	}
	status, err := c.Enum("status", workerStatuses...)
	if err != nil {
		return err
	}
	if status >= 0 {
		only := hive.Status(status)
		q.Status = &only
	}
	address, err := c.Str("tokenAddress")
	if err != nil {
		return err
	}
	if address != "" {
		a, ok := launchpad.ParseAddress(address)
		if !ok {
			return refuse.Param("tokenAddress", "The parameter tokenAddress must be 0x and 40 hexadecimal digits.")
		}
		q.Token = (*[20]byte)(&a)
	}
	asOf, err := asOf(c)
	if err != nil {
		return err
	}
	v := s.views()
	if asOf != nil {
		newest := v.ledger.NewestAsOf(*asOf)
		q.Newest = &newest
		setAsOf(c, *asOf)
	} else {
		setAsOf(c, v.ledger.AsOfNewest(v.nowNs, v.hive.Newest()))
	}
	list := v.hive.Workers(v.nowNs, q)
	return sendFree(c, answerList(c, &list, q.Page, newWorkerRow))
}

func noWorker() *refuse.Refusal {
	return refuse.Missing("tokenId", "No worker has this token id.")
}

// worker serves GET /api/agents/workers/:tokenId.
func (s *Service) worker(c *edge.Ctx) *refuse.Refusal {
	id, ok := hive.ParseTokenID(c.PathParam("tokenId"))
	if !ok {
		return noWorker()
	}
	v := s.views()
	w, ok := v.hive.Worker(v.nowNs, id)
	if !ok {
		return noWorker()
	}
	return sendFree(c, newWorkerAnswer(&w, v.hive.Recent(id)))
}
