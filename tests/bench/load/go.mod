module fabric-injector/bench/load

go 1.21
