module vectored-bench/netbuffers

go 1.19
