# The CPU time and memory of a process, sample by sample.
log = open("log", "w")
for sample in range(2000):
    log.write(f"{sample / 50:12.3f} {sample % 100:12.3f} {1024 + sample:12.3f}\n")
    log.flush()  # old
log.close()
