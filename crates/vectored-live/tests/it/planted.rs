//! Programs with calls at known lines: 20 functions, in several shapes. Each function moves a number of bytes that no other
//! moves.

use std::collections::BTreeMap;
use std::fmt::Write;

pub const SITES: usize = 20;

/// The parts of a program in one language: `{i}` is the number of a function, `{n}` the number of bytes that the
/// function writes. A line that a finding may name ends in `here`.
pub struct Language {
    pub head: &'static str,
    pub shapes: &'static [&'static str],
    /// The code before the calls.
    pub begin: &'static str,
    /// The shapes of a call. The functions take the shapes in turn.
    pub calls: &'static [&'static str],
    pub end: &'static str,
}

pub const C: Language = Language {
    head: "#include <unistd.h>\n#include <fcntl.h>\n#include <stdio.h>\n#ifndef LOOPS\n#define LOOPS 2000\n#endif\nstatic char data[65536];\ntypedef long site(int, FILE *);\n",
    shapes: &[
        "__attribute__((noinline)) static long site_{i}(int fd, FILE *f)\n{\n    if (write(fd, data, {n}) < 0) // here\n        _exit(1);\n    return 1;\n}\n",
        "__attribute__((noinline)) static long site_{i}(int fd, FILE *f)\n{\n    long r = write(fd, data, {n}); // here\n    return r + 1;\n}\n",
        "__attribute__((noinline)) static long site_{i}(int fd, FILE *f)\n{\n    return write(fd, data, {n}); // here\n}\n",
        "__attribute__((noinline)) static long site_{i}(int fd, FILE *f)\n{\n    fwrite(data, 1, {n}, f);\n    return fflush(f); // here\n}\n",
        "__attribute__((noinline)) static long inner_{i}(int fd) { return write(fd, data, {n}); } // here\n__attribute__((noinline)) static long site_{i}(int fd, FILE *f) { return inner_{i}(fd); }\n",
        "__attribute__((noinline)) static long site_{i}(int fd, FILE *f)\n{\n    return fprintf(stderr, \"%*d\", {n}, fd); // here\n}\n",
    ],
    begin: "int main(int argc, char **argv)\n{\n    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);\n    FILE *f = fdopen(fd, \"w\");\n    dup2(fd, 2);\n    for (int k = 0; k < LOOPS; k++) {\n",
    calls: &[
        "site_{i}(fd, f);",
        "((site *volatile)site_{i})(fd, f);",
        "site_{i}(fd, f);",
    ],
    end: "    }\n    return 0;\n}\n",
};

pub const CPP: Language = Language {
    head: "#include <unistd.h>\n#include <fcntl.h>\n#include <fstream>\n#include <string>\n#include <functional>\nstatic char data[65536];\n",
    shapes: &[
        "namespace inner { __attribute__((noinline)) long site_{i}(int fd, std::ofstream &o) {\n    return write(fd, data, {n}); // here\n} }\nusing inner::site_{i};\n",
        "struct Base_{i} { virtual long put(std::ofstream &o) = 0; };\nstruct site_{i}_t : Base_{i} { long put(std::ofstream &o) override {\n    o.write(data, {n}); // here\n    o.flush(); // here\n    return 1;\n} };\n__attribute__((noinline)) long site_{i}(int fd, std::ofstream &o) { static Base_{i} *volatile one = new site_{i}_t; return one->put(o) + 1; }\n",
        "template <class T> __attribute__((noinline)) T generic_{i}(int fd) {\n    T r = write(fd, data, {n}); // here\n    return r + 1;\n}\nlong site_{i}(int fd, std::ofstream &o) { return generic_{i}<long>(fd); }\n",
        "static __attribute__((noinline)) long site_{i}(int fd, std::ofstream &o) {\n    o << std::string({n}, 'x') << std::flush; // here\n    return 1;\n}\n",
        "static __attribute__((noinline)) void site_{i}(int fd, std::ofstream &o) {\n    std::function<void()> each = [&] { o << std::string({n}, 'x'); }; // here\n    each(); // here\n    o.flush(); // here\n}\n",
    ],
    begin: "int main(int argc, char **argv)\n{\n    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);\n    std::ofstream o(argv[1]);\n    for (int k = 0; k < 2000; k++) {\n",
    calls: &["site_{i}(fd, o);"],
    end: "    }\n    return 0;\n}\n",
};

pub const RUST: Language = Language {
    head: "use std::fs::File;\nuse std::io::{BufWriter, Write};\nuse std::os::fd::AsRawFd;\nunsafe extern \"C\" { fn write(fd: i32, data: *const u8, length: usize) -> isize; }\nstatic DATA: [u8; 65536] = [b'x'; 65536];\n",
    shapes: &[
        "#[inline(never)]\nfn site_{i}(mut file: &File, _: &mut dyn Write) -> isize {\n    file.write_all(&DATA[..{n}]).unwrap(); // here\n    1\n}\n",
        "#[inline(never)]\nfn site_{i}(file: &File, _: &mut dyn Write) -> isize {\n    unsafe { write(file.as_raw_fd(), DATA.as_ptr(), {n}) } // here\n}\n",
        "#[inline(never)]\nfn site_{i}(file: &File, _: &mut dyn Write) -> isize {\n    let mut out = BufWriter::new(file);\n    out.write_all(&DATA[..{n}]).unwrap();\n    out.flush().unwrap(); // here\n    2\n}\n",
        "#[inline(never)]\nfn site_{i}(_: &File, boxed: &mut dyn Write) -> isize {\n    boxed.write_all(&DATA[..{n}]).unwrap(); // here\n    3\n}\n",
        "#[inline(never)]\nfn site_{i}(mut file: &File, _: &mut dyn Write) -> isize {\n    let mut each = |part: &[u8]| {\n        file.write_all(part).unwrap(); // here\n    };\n    each(&DATA[..{n}]); // here\n    4\n}\n",
    ],
    begin: "fn main() {\n    let file = File::create(std::env::args().nth(1).unwrap()).unwrap();\n    let mut boxed: Box<dyn Write> = Box::new(file.try_clone().unwrap());\n    for _ in 0..2000 {\n",
    calls: &["site_{i}(&file, &mut *boxed);"],
    end: "    }\n}\n",
};

pub const PYTHON: Language = Language {
    head: "import os, sys, logging, threading\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\nraw = open(sys.argv[1], 'wb', buffering=0)\ntext = open(sys.argv[1], 'w')\nlogging.basicConfig(filename=sys.argv[1], format='%(message)s')\nlog = logging.getLogger('planted')\n",
    shapes: &[
        "def site_{i}():\n    return os.write(fd, b'x' * {n}) # here\n",
        "def site_{i}():\n    raw.write( # here\n        b'x'\n        * {n})\n",
        "def site_{i}():\n    log.warning('x' * ({n} - 1)) # here\n",
        "class Site_{i}:\n    def site_{i}(self):\n        text.write('x' * {n})\n        text.flush() # here\nsite_{i} = Site_{i}().site_{i}\n",
        "def generator_{i}():\n    while True:\n        yield os.write(fd, b'x' * {n}) # here\none_{i} = generator_{i}()\ndef site_{i}():\n    next(one_{i})\n",
        "def site_{i}():\n    return [\n        os.write(fd, b'x' * n) # here\n        for n in ({n},)]\n",
        "def site_{i}():\n    try:\n        raise ValueError\n    except ValueError:\n        os.write(fd, b'x' * {n}) # here\n",
    ],
    // The sleep gives the watch time to tell the kernel where the frames of CPython are. Calls before that have no
    // lines.
    begin: "import time\ntime.sleep(0.3)\ndef work():\n    for _ in range(2000):\n",
    calls: &["site_{i}()"],
    end: "work()\none = threading.Thread(target=work)\none.start()\none.join()\n",
};

pub fn bytes_of(site: usize) -> u64 {
    100 + site as u64
}

/// The source, and for each number of bytes the lines that a finding may name.
pub fn source(language: &Language) -> (String, BTreeMap<u64, Vec<usize>>) {
    let fill = |text: &str, i: usize| {
        let text = text.replace("{i}", &i.to_string());
        text.replace("{n}", &bytes_of(i).to_string())
    };
    let mut source = language.head.to_owned();
    let mut lines = BTreeMap::new();
    for i in 0..SITES {
        let first = source.lines().count() + 1;
        let text = fill(language.shapes[i % language.shapes.len()], i);
        let marked = text
            .lines()
            .zip(first..)
            .filter(|(line, _)| line.ends_with("here"));
        lines.insert(bytes_of(i), marked.map(|(_, number)| number).collect());
        source += &text;
    }
    source += language.begin;
    for i in 0..SITES {
        let call = fill(language.calls[i % language.calls.len()], i);
        writeln!(source, "        {call}").unwrap();
    }
    (source + language.end, lines)
}
