package bench

func runFresh(*Run) error   { return nil }
func runOrders(*Run) error  { return nil }
func runStreams(*Run) error { return nil }
func runScale(*Run) error   { return nil }
