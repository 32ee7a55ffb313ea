BEGIN {
    name = ARGV[1]; path = ARGV[2]; count = ARGV[4]
    for (i = 0; i < count; i++) record[i] = sprintf("%031d", i)
    ORS = ""
    if (name == "adjacent-writes/file 0") {
        for (i = 0; i < count; i++) { print "record "; fflush(); print record[i] "\n"; fflush() }
    } else if (name == "adjacent-writes/file 1") {
        for (i = 0; i < count; i++) { print "record "; print record[i] "\n" }
        fflush()
        # An end that flushes nothing.
        system("kill -9 $PPID")
    } else if (name == "adjacent-writes/file 2") {
        for (i = 0; i < count; i++) { header = "record "; body = record[i] "\n"; print header body; fflush() }
    } else if (name == "small-reads/file 0") {
        system("gawk 1 ORS='\n' " path)
    } else if (name == "small-reads/file 1") {
        system("AWKBUFSIZE=65536 gawk 1 ORS='\n' " path)
    } else if (name == "small-reads/pipe#stdin 0") {
        system("while read -r line; do echo \"$line\"; done")
    } else if (name == "small-reads/pipe#stdin 1") {
        system("AWKBUFSIZE=65536 gawk '{ print; fflush() }'")
    } else if (name == "reopened/file 0") {
        file = path
        for (i = 0; i < count; i++) { print "record " record[i] "\n" >> file; close(file) }
    } else if (name == "reopened/file 1") {
        file = path
        for (i = 0; i < count; i++) print "record " record[i] "\n" >> file
    } else {
        exit 2
    }
}
