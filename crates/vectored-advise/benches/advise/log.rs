//! A log as `strace -f -ttt -T -yy -s1 -v` makes it: of a server with four threads, a process that
//! exports records and one that imports them, whose calls interleave.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a log of about `bytes` bytes, the same each time.
pub fn write(path: &Path, bytes: usize) -> io::Result<()> {
    let mut log = Log {
        out: BufWriter::new(File::create(path)?),
        written: 0,
        now_us: 1_795_312_736_000_000,
        random: fastrand::Rng::with_seed(1),
    };
    log.begin()?;
    while log.written < bytes {
        match log.random.u32(..100) {
            0..40 => log.answer()?,
            40..60 => log.export()?,
            60..75 => log.import()?,
            75..85 => log.journal()?,
            85..95 => log.tell()?,
            _ => log.wait()?,
        }
    }
    log.out.flush()
}

const SERVER: u32 = 9658;
const EXPORTER: u32 = 9712;
const IMPORTER: u32 = 9713;

const SOCKETS: [&str; 3] = [
    "13<TCP:[127.0.0.1:59072->127.0.0.1:37149]>",
    "14<TCP:[127.0.0.1:59074->127.0.0.1:37149]>",
    "22<UNIX-STREAM:[4114209->4113127]>",
];

struct Log {
    out: BufWriter<File>,
    written: usize,
    now_us: u64,
    random: fastrand::Rng,
}

impl Log {
    /// The processes and their open descriptors.
    fn begin(&mut self) -> io::Result<()> {
        self.call(
            SERVER,
            r#"execve("/usr/bin/server", ["server"], ["PATH=/bin"]) = 0"#,
        )?;
        let file = |number: u32, name: &str, flags: &str| {
            format!(
                r#"openat(AT_FDCWD</srv>, "{name}", {flags}|O_CLOEXEC, 0666) = {number}</srv/{name}>"#
            )
        };
        self.call(SERVER, &file(5, "data/in.db", "O_RDONLY"))?;
        self.call(SERVER, &file(6, "data/journal.log", "O_WRONLY|O_CREAT"))?;
        self.call(SERVER, &file(7, "log/access.log", "O_WRONLY|O_APPEND"))?;
        self.call(
            SERVER,
            "pipe2([10<pipe:[4109]>, 11<pipe:[4109]>], O_CLOEXEC) = 0",
        )?;
        for child in [EXPORTER, IMPORTER] {
            self.call(
                SERVER,
                &format!("clone(child_stack=NULL, flags=SIGCHLD) = {child}"),
            )?;
        }
        let flags = "CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM";
        for thread in 1..4 {
            let child = SERVER + thread;
            self.call(
                SERVER,
                &format!("clone3({{flags={flags}, exit_signal=0}}, 88) = {child}"),
            )?;
        }
        self.call(EXPORTER, &file(3, "data/out.bin", "O_WRONLY|O_CREAT"))
    }

    /// A request over a socket, whose answer is a header and its data.
    fn answer(&mut self) -> io::Result<()> {
        let thread = SERVER + self.random.u32(..4);
        let socket = SOCKETS[self.random.usize(..SOCKETS.len())];
        self.call(
            thread,
            "epoll_wait(19<anon_inode:[eventpoll]>, [{events=EPOLLIN, data=0x7f01}], 128, -1) = 1",
        )?;
        let asked = 40 + self.random.u32(..400);
        self.call(
            thread,
            &format!(r#"recvfrom({socket}, "G"..., 16384, 0, NULL, NULL) = {asked}"#),
        )?;
        let size = 1 + self.random.u32(..8000);
        if self.random.bool() {
            self.call(thread, &format!(r#"writev({socket}, [{{iov_base="H"..., iov_len=117}}, {{iov_base="x"..., iov_len={size}}}], 2) = {}"#, size + 117))?;
        } else {
            self.call(thread, &format!(r#"write({socket}, "H"..., 117) = 117"#))?;
            self.call(
                thread,
                &format!(r#"write({socket}, "x"..., {size}) = {size}"#),
            )?;
        }
        let line = 80 + self.random.u32(..40);
        self.call(
            thread,
            &format!(r#"write(7</srv/log/access.log>, "1"..., {line}) = {line}"#),
        )
    }

    /// Records, each a header and its data.
    fn export(&mut self) -> io::Result<()> {
        for _ in 0..1 + self.random.u32(..12) {
            let size = 4096;
            self.call(EXPORTER, r#"write(3</srv/data/out.bin>, "\0"..., 8) = 8"#)?;
            self.call(
                EXPORTER,
                &format!(r#"write(3</srv/data/out.bin>, "x"..., {size}) = {size}"#),
            )?;
        }
        Ok(())
    }

    /// A file, read in small pieces.
    fn import(&mut self) -> io::Result<()> {
        let name = self.random.u32(..200);
        self.call(IMPORTER, &format!(r#"openat(AT_FDCWD</srv>, "in/{name}.csv", O_RDONLY|O_CLOEXEC) = 4</srv/in/{name}.csv>"#))?;
        self.call(IMPORTER, &format!("fstat(4</srv/in/{name}.csv>, {{st_dev=makedev(0xfd, 0), st_ino=4109, st_mode=S_IFREG|0644, st_nlink=1, st_uid=0, st_gid=0, st_blksize=4096, st_blocks=8, st_size=30720, st_atime=1795312736 /* 2026-11-22T02:05:36.000000000+0000 */, st_atime_nsec=0}}) = 0"))?;
        for _ in 0..self.random.u32(..30) {
            self.call(
                IMPORTER,
                &format!(r#"read(4</srv/in/{name}.csv>, "a"..., 512) = 512"#),
            )?;
        }
        self.call(
            IMPORTER,
            &format!(r#"read(4</srv/in/{name}.csv>, "", 512) = 0"#),
        )?;
        self.call(IMPORTER, &format!("close(4</srv/in/{name}.csv>) = 0"))
    }

    /// Positions and records of a journal.
    fn journal(&mut self) -> io::Result<()> {
        let mut at = u64::from(self.random.u32(..)) * 24;
        for _ in 0..self.random.u32(..6) {
            self.call(
                SERVER,
                &format!(r#"pwrite64(6</srv/data/journal.log>, "\0"..., 24, {at}) = 24"#),
            )?;
            at += 24;
        }
        self.call(
            SERVER,
            &format!("lseek(5</srv/data/in.db>, {at}, SEEK_SET) = {at}"),
        )?;
        self.call(
            SERVER,
            r#"read(5</srv/data/in.db>, "x"..., 4096) = -1 EAGAIN (Resource temporarily unavailable)"#,
        )
    }

    /// Bytes through a pipe, from one process to another, which waits for them.
    fn tell(&mut self) -> io::Result<()> {
        self.line(
            IMPORTER,
            r#"read(10<pipe:[4109]>,  <unfinished ...>"#,
            false,
        )?;
        for _ in 0..1 + self.random.u32(..3) {
            self.call(EXPORTER, r#"write(11<pipe:[4109]>, "\1"..., 16) = 16"#)?;
        }
        self.call(IMPORTER, r#"<... read resumed>"\1"..., 16) = 16"#)
    }

    /// A lock, and another thread that has it.
    fn wait(&mut self) -> io::Result<()> {
        let thread = SERVER + self.random.u32(..4);
        self.call(
            thread,
            "futex(0x7f7b10116990, FUTEX_WAIT_PRIVATE, 2, NULL) = 0",
        )?;
        self.call(thread, "futex(0x7f7b10116990, FUTEX_WAKE_PRIVATE, 1) = 1")
    }

    fn call(&mut self, thread: u32, text: &str) -> io::Result<()> {
        self.line(thread, text, true)
    }

    fn line(&mut self, thread: u32, text: &str, has_ended: bool) -> io::Result<()> {
        self.now_us += 13 + self.random.u64(..20);
        let took_us = 6 + self.random.u32(..20);
        let (seconds, micros) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
        let took = if has_ended { format!(" <0.{took_us:06}>") } else { String::new() };
        let line = format!("{thread}  {seconds}.{micros:06} {text}{took}\n");
        self.written += line.len();
        self.out.write_all(line.as_bytes())
    }
}
