words <- commandArgs(TRUE)
name <- words[1]; path <- words[2]; count <- as.integer(words[4])
bodies <- sprintf("%031d", seq_len(count) - 1L)
if (name == "adjacent-writes/file 0") {
    con <- file(path, "w")
    for (body in bodies) cat("record ", body, "\n", sep = "", file = con)
    quit("no")
} else if (name == "adjacent-writes/file 1") {
    con <- file(path, "w")
    for (body in bodies) {
        text <- paste0("record ", body)
        writeLines(text, con)
    }
    flush(con)
} else if (name == "adjacent-writes/file 2") {
    con <- file(path, "w")
    for (body in bodies) {
        header <- "record "
        body <- paste0(body, "\n")
        cat(paste0(header, body), file = con)
    }
} else {
    quit("no", 2)
}
# An end that flushes nothing.
tools::pskill(Sys.getpid(), 9)
