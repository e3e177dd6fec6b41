// Package sim makes orders: a simulated market of seeded agents that trade through order
// entry like anyone else. Package tickhive/sim/replay does the same from recorded files
// (tickhive replay; its doc.go says how to call it), tickhive/sim/stats tells whether a
// market looks like one (tickhive stats).
package sim
