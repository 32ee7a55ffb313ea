//! The runtime of a program, from its executable: what that itself needs, not its libraries.

use crate::languages::{Runtime, last_part, runtime_by_signs, runtime_of_program};

/// Whether a file is a library, or its binding, that transfers at offsets on its own: of a database or of arrays.
pub(crate) fn is_database_library(path: &[u8]) -> bool {
    const PARTS: [&str; 6] = ["sqlite", "lmdb", "rocksdb", "leveldb", "hdf5", "libdb-"];
    let name = String::from_utf8_lossy(last_part(path)).to_ascii_lowercase();
    let is_library = name.split('.').any(|part| part == "so" || part == "node");
    is_library && PARTS.iter().any(|part| name.contains(part))
}

/// Whether a file is a database of such a library, by its name.
pub(crate) fn is_database(path: &[u8]) -> bool {
    const ENDS: [&str; 9] = [
        ".db", ".db3", ".sqlite", ".sqlite3", "-journal", "-wal", ".mdb", ".h5", ".hdf5",
    ];
    ENDS.iter().any(|end| path.ends_with(end.as_bytes()))
}

/// The runtime by the bytes of an executable file; `None` if they do not tell.
///
/// A script with `#!` has the runtime of its interpreter.
pub fn runtime_of_executable(file: &[u8]) -> Option<Runtime> {
    if let Some(rest) = file.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next()?;
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let interpreter = words.next()?;
        return match last_part(interpreter) {
            b"env" => runtime_of_program(words.find(|word| word[0] != b'-')?),
            _ => runtime_of_program(interpreter),
        };
    }
    let segments = segments(file)?;
    // A static program needs no library.
    let needed = needed_libraries(file, &segments).unwrap_or_default();
    let needs = |name: &str| {
        needed
            .iter()
            .any(|library| library.starts_with(name.as_bytes()))
    };
    let holds = |text: &str| memchr::memmem::find(file, text.as_bytes()).is_some();
    runtime_by_signs(|library, text| {
        (library.is_empty() || needs(library)) && (text.is_empty() || holds(text))
    })
}

struct Segment {
    kind: usize,
    offset: usize,
    address: usize,
    bytes: usize,
}

fn segments(file: &[u8]) -> Option<Vec<Segment>> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size, count) = (
        number(file, 32, 8)?,
        number(file, 54, 2)?,
        number(file, 56, 2)?,
    );
    let segment = |index: usize| {
        let header = file.get(start.checked_add(index * size)?..)?;
        Some(Segment {
            kind: number(header, 0, 4)?,
            offset: number(header, 8, 8)?,
            address: number(header, 16, 8)?,
            bytes: number(header, 32, 8)?,
        })
    };
    Some((0..count).map_while(segment).collect())
}

/// The libraries that an ELF file names itself (`DT_NEEDED`).
fn needed_libraries<'a>(file: &'a [u8], segments: &[Segment]) -> Option<Vec<&'a [u8]>> {
    let dynamic = segments.iter().find(|segment| segment.kind == 2)?;
    let entries = (0..dynamic.bytes / 16).map_while(|index| {
        let entry = file.get(dynamic.offset.checked_add(index * 16)?..)?;
        Some((number(entry, 0, 8)?, number(entry, 8, 8)?))
    });
    let entries: Vec<(usize, usize)> = entries.take_while(|entry| entry.0 != 0).collect();
    let names = entries.iter().find(|entry| entry.0 == 5)?.1;
    let loaded = segments.iter().find(|segment| {
        segment.kind == 1 && names >= segment.address && names - segment.address < segment.bytes
    })?;
    let names = file.get((names - loaded.address).checked_add(loaded.offset)?..)?;
    let needed = entries.iter().filter(|entry| entry.0 == 1);
    Some(
        needed
            .filter_map(|&(_, at)| names.get(at..)?.split(|&byte| byte == 0).next())
            .collect(),
    )
}

fn number(file: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let field = file.get(at..at + bytes)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | usize::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::interprets_others;

    #[test]
    fn a_program_is_named_after_its_runtime_or_opens_its_library() {
        let of = |path: &str| runtime_of_program(path.as_bytes());
        assert_eq!(of("/usr/bin/python3.11"), Some(Runtime::Python));
        assert_eq!(of("php-fpm8.2"), Some(Runtime::Php));
        assert_eq!(of("/usr/bin/dash"), Some(Runtime::Shell));
        assert_eq!(of("./tool.rb"), Some(Runtime::Ruby));
        assert_eq!(of("/usr/bin/gawk-5.2.1"), Some(Runtime::Awk));
        assert_eq!(of("tclsh8.6"), Some(Runtime::Tcl));
        assert_eq!(of("pythonic"), None);
        assert_eq!(of(""), None);
        assert_eq!(of("42"), None);
        assert_eq!(
            of("/usr/lib/erlang/erts-13/bin/beam.smp"),
            Some(Runtime::Erlang)
        );
        assert_eq!(of("guile-3.0"), Some(Runtime::Lisp));
        let of_name = of;
        let of = |file: &[u8]| runtime_of_executable(file);
        assert_eq!(of(b"#!/usr/bin/env -S python3 -u\n"), Some(Runtime::Python));
        assert_eq!(of(b"#! /bin/sh\n"), Some(Runtime::Shell));
        assert_eq!(of(b"#!"), None);
        assert_eq!(of_name("/bin/mksh"), Some(Runtime::Shell));
        for name in ["/usr/bin/octave-cli", "dotnet-8.0", "/usr/bin/gforth"] {
            assert!(interprets_others(name.as_bytes()), "{name}");
        }
        assert!(!interprets_others(b"/usr/bin/cat"));
        let with = |text: &[u8]| of(&[b"\x7fELF\x02\x01", &[0; 58][..], text].concat());
        for text in [
            "/rustc/5980/library",
            "/usr/src/rustc-1.63.0/library",
            "library/std/src/io",
        ] {
            assert_eq!(with(text.as_bytes()), Some(Runtime::Rust), "{text}");
        }
        // Static programs.
        assert_eq!(
            with(b"FPC 3.2.2 [2021/05/16] for x86_64 - Linux"),
            Some(Runtime::Pascal)
        );
        assert_eq!(with(b"\0OCAMLRUNPARAM\0"), Some(Runtime::Ocaml));
        assert_eq!(with(b"core.exception.RangeError"), Some(Runtime::D));
        assert_eq!(
            with(b"\x04\0\0\0\x53\0\0\0\x04\0\0\0Go\0\0"),
            Some(Runtime::Go)
        );
        assert_eq!(with(b"\0printf\0"), None);
        // This test itself.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(of(&own), Some(Runtime::Rust));
        let libraries = needed_libraries(&own, &segments(&own).unwrap()).unwrap();
        assert!(
            libraries.iter().any(|name| name.starts_with(b"libc.")),
            "{libraries:?}"
        );
        for end in [0, 6, 60, 100, 1000] {
            assert_eq!(of(&own[..end]), None);
        }
    }
}
