lassign $argv name path port count
set parts {}
for {set i 0} {$i < $count} {incr i} { lappend parts "record " [format "%031d\n" $i] }
proc create {} { set file [open $::path w]; fconfigure $file -buffering none; return $file }
proc connect {} { set file [socket 127.0.0.1 $::port]; fconfigure $file -buffering none -translation lf; return $file }
proc each {file} { foreach part $::parts { puts -nonewline $file $part } }
# Reads records, and prints each.
proc show {file} {
    while {[set record [read $file 39]] ne ""} { puts -nonewline $record; flush stdout }
}
switch $name {
    "adjacent-writes/file 0" {
        set file [open $path w]
        fconfigure $file -buffering none
        each $file
    }
    "adjacent-writes/file 1" {
        set file [open $path w]
        fconfigure $file -buffering full -buffersize 65536
        each $file
        flush $file
        # An end that flushes nothing.
        exec kill -9 [pid]
    }
    "adjacent-writes/file 2" {
        set file [open $path w]
        fconfigure $file -buffering full
        foreach {header body} $parts { puts -nonewline $file $header$body; flush $file }
    }
    "adjacent-writes/unix 0" { each [connect] }
    "adjacent-writes/unix 1" {
        set file [connect]
        fconfigure $file -buffering full -buffersize 65536
        each $file
        flush $file
    }
    "adjacent-writes/unix 2" {
        set file [connect]
        foreach {header body} $parts { puts -nonewline $file $header$body; flush $file }
    }
    "small-reads/file 0" {
        set file [open $path]
        fconfigure $file -buffersize 39
        show $file
    }
    "small-reads/file 1" {
        set file [open $path]
        fconfigure $file -buffersize 65536
        show $file
    }
    "small-reads/pipe 0" {
        set file [connect]
        fconfigure $file -buffersize 39
        show $file
    }
    "small-reads/pipe 1" {
        set file [connect]
        fconfigure $file -buffersize 65536
        show $file
    }
    default { exit 2 }
}
