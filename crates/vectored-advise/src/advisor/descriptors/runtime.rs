//! The runtime of a program, from the libraries and texts of its executable. The libraries' own needs do not count.

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::languages::{Runtime, last_part, runtime_by_signs, runtime_of_program};

/// Whether a file is a library, or a binding of a library, that makes transfers at offsets itself. Such libraries are
/// for databases or arrays.
pub(crate) fn is_database_library(path: &[u8]) -> bool {
    const PARTS: [&str; 6] = ["sqlite", "lmdb", "rocksdb", "leveldb", "hdf5", "libdb-"];
    let name = String::from_utf8_lossy(last_part(path)).to_ascii_lowercase();
    let is_library = name.split('.').any(|part| part == "so" || part == "node");
    is_library && PARTS.iter().any(|part| name.contains(part))
}

/// Whether the name of a file is the name of a database of such a library.
pub(crate) fn is_database(path: &[u8]) -> bool {
    const ENDS: [&str; 9] = [
        ".db", ".db3", ".sqlite", ".sqlite3", "-journal", "-wal", ".mdb", ".h5", ".hdf5",
    ];
    ENDS.iter().any(|end| path.ends_with(end.as_bytes()))
}

/// The runtime, by the bytes of an executable file; `None` if the bytes do not tell.
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
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    // A static program needs no library.
    let needed = needed_libraries(file).unwrap_or_default();
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

/// The libraries that the ELF file itself lists (`DT_NEEDED`), without the dependencies of these libraries. They are
/// found through the program headers, because a file that was cut has lost its section table.
fn needed_libraries(file: &[u8]) -> Option<Vec<&[u8]>> {
    let header = elf::FileHeader64::<LittleEndian>::parse(file).ok()?;
    let segments = header.program_headers(LittleEndian, file).ok()?;
    let mut dynamic = segments.iter();
    let entries = dynamic.find_map(|segment| segment.dynamic(LittleEndian, file).ok()?)?;
    let of = |tag: i64| {
        let of_tag = entries
            .iter()
            .filter(move |entry| entry.d_tag.get(LittleEndian) == tag);
        of_tag.map(|entry| entry.d_val.get(LittleEndian))
    };
    let mut loaded = segments.iter();
    let names = of(elf::DT_STRTAB).next()?;
    let names = loaded.find_map(|segment| {
        segment.data_range(LittleEndian, file, names, 1).ok()??;
        let start = names - segment.p_vaddr.get(LittleEndian);
        segment.data(LittleEndian, file).ok()?.get(start as usize..)
    })?;
    let needed = of(elf::DT_NEEDED);
    Some(
        needed
            .filter_map(|at| names.get(at as usize..)?.split(|&byte| byte == 0).next())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::interprets_others;

    #[test]
    fn a_program_is_named_after_its_runtime_or_opens_its_library() {
        let table = "Python: /usr/bin/python3.11|Php: php-fpm8.2|Shell: /usr/bin/dash|Shell: /bin/mksh|Ruby: ./tool.rb|\
            Awk: /usr/bin/gawk-5.2.1|Tcl: tclsh8.6|Lisp: guile-3.0|Erlang: /usr/lib/erlang/erts-13/bin/beam.smp|\
            -: pythonic|-: |-: 42";
        for (expected, path) in table.split('|').map(|row| row.split_once(": ").unwrap()) {
            let found = runtime_of_program(path.as_bytes());
            let found = found.map_or("-".to_owned(), |found| format!("{found:?}"));
            assert_eq!(found, expected, "{path}");
        }
        let of = |file: &[u8]| runtime_of_executable(file);
        assert_eq!(of(b"#!/usr/bin/env -S python3 -u\n"), Some(Runtime::Python));
        assert_eq!(of(b"#! /bin/sh\n"), Some(Runtime::Shell));
        assert_eq!(of(b"#!"), None);
        for name in ["/usr/bin/octave-cli", "dotnet-8.0", "/usr/bin/gforth"] {
            assert!(interprets_others(name.as_bytes()), "{name}");
        }
        assert!(!interprets_others(b"/usr/bin/cat"));
        let with = |text: &[u8]| of(&[b"\x7fELF\x02\x01", &[0; 58][..], text].concat());
        // The last cases are static programs.
        for (text, expected) in [
            (&b"/rustc/5980/library"[..], Runtime::Rust),
            (b"/usr/src/rustc-1.63.0/library", Runtime::Rust),
            (b"library/std/src/io", Runtime::Rust),
            (
                b"FPC 3.2.2 [2021/05/16] for x86_64 - Linux",
                Runtime::Pascal,
            ),
            (b"\0OCAMLRUNPARAM\0", Runtime::Ocaml),
            (b"core.exception.RangeError", Runtime::D),
            (b"\x04\0\0\0\x53\0\0\0\x04\0\0\0Go\0\0", Runtime::Go),
        ] {
            assert_eq!(with(text), Some(expected), "{text:?}");
        }
        assert_eq!(with(b"\0printf\0"), None);
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(of(&own), Some(Runtime::Rust));
        let libraries = needed_libraries(&own).unwrap();
        assert!(
            libraries.iter().any(|name| name.starts_with(b"libc.")),
            "{libraries:?}"
        );
        for end in [0, 6, 60, 100, 1000] {
            assert_eq!(of(&own[..end]), None);
        }
    }
}
