set file [open [lindex $argv 0] w]
set buffering [expr {[lindex $argv 1] eq "each" ? "line" : "full"}]
fconfigure $file -buffering $buffering -buffersize 65536
for {set i 0} {$i < 20000} {incr i} { puts $file "record $i" }
close $file
