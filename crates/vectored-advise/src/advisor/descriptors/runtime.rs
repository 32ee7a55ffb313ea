//! The runtime of a program, from its name and from the files that it opens at its start.

use crate::advisor::descriptors::name_set::last_part;
use crate::model::Runtime;

/// The runtime by the name of a program or script.
pub(crate) fn runtime_of_program(path: &[u8]) -> Option<Runtime> {
    let name = last_part(path);
    if let Some(dot) = name.iter().rposition(|&byte| byte == b'.') {
        let by_extension = match &name[dot..] {
            b".py" => Some(Runtime::Python),
            b".rb" => Some(Runtime::Ruby),
            b".php" => Some(Runtime::Php),
            b".lua" => Some(Runtime::Lua),
            b".pl" => Some(Runtime::Perl),
            b".js" | b".mjs" | b".cjs" => Some(Runtime::Node),
            b".sh" => Some(Runtime::Shell),
            _ => None,
        };
        if by_extension.is_some() {
            return by_extension;
        }
    }
    // `python3.11`, `lua5.4`, `php-fpm8.2`.
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let length = name.iter().rposition(|byte| !is_version(byte));
    match &name[..length.map_or(0, |last| last + 1)] {
        b"python" | b"pypy" => Some(Runtime::Python),
        b"java" => Some(Runtime::Java),
        b"node" | b"nodejs" | b"deno" | b"bun" => Some(Runtime::Node),
        b"ruby" | b"irb" => Some(Runtime::Ruby),
        b"php" | b"php-fpm" | b"php-cgi" => Some(Runtime::Php),
        b"lua" | b"luajit" => Some(Runtime::Lua),
        b"perl" => Some(Runtime::Perl),
        b"sh" | b"bash" | b"dash" | b"zsh" | b"ksh" | b"ash" => Some(Runtime::Shell),
        _ => None,
    }
}

/// The runtime by a file that the program opens: a shared library, or a module of an interpreter. A
/// script with `#!` has its own name, not its interpreter's.
pub(crate) fn runtime_of_file(path: &[u8]) -> Option<Runtime> {
    if path.ends_with(b"/transparent_hugepage/hpage_pmd_size") {
        return Some(Runtime::Go);
    }
    let name = last_part(path);
    if name.ends_with(b".pm") {
        return Some(Runtime::Perl);
    }
    let has = |part: &[u8]| path.windows(part.len()).any(|window| window == part);
    if name.starts_with(b"__init__.") && has(b"/encodings/") {
        return Some(Runtime::Python);
    }
    let library = name.strip_prefix(b"lib")?;
    match library {
        _ if library.starts_with(b"jvm.so") => Some(Runtime::Java),
        _ if library.starts_with(b"ruby") && has(b".so") => Some(Runtime::Ruby),
        _ if library.starts_with(b"node.so") => Some(Runtime::Node),
        _ if library.starts_with(b"stdc++.so") || library.starts_with(b"c++.so") => {
            Some(Runtime::Cpp)
        }
        _ if library.starts_with(b"gcc_s.so") => Some(Runtime::Rust),
        _ if library.starts_with(b"c.so.6") || library.starts_with(b"c.musl") => Some(Runtime::C),
        _ => None,
    }
}

/// The more specific of two: `libc` is opened by most runtimes.
pub(crate) fn surer(one: Option<Runtime>, other: Option<Runtime>) -> Option<Runtime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_its_runtime_or_opens_its_library() {
        let of = |path: &str| runtime_of_program(path.as_bytes());
        assert_eq!(of("/usr/bin/python3.11"), Some(Runtime::Python));
        assert_eq!(of("php-fpm8.2"), Some(Runtime::Php));
        assert_eq!(of("/usr/bin/dash"), Some(Runtime::Shell));
        assert_eq!(of("./tool.rb"), Some(Runtime::Ruby));
        assert_eq!(of("pythonic"), None);
        assert_eq!(of(""), None);
        assert_eq!(of("42"), None);
        let of = |path: &str| runtime_of_file(path.as_bytes());
        assert_eq!(of("/usr/lib/jvm/lib/server/libjvm.so"), Some(Runtime::Java));
        assert_eq!(of("/lib/libstdc++.so.6"), Some(Runtime::Cpp));
        assert_eq!(of("/lib/libruby-3.1.so.3.1"), Some(Runtime::Ruby));
        assert_eq!(of("/lib/x86_64-linux-gnu/libc.so.6"), Some(Runtime::C));
        assert_eq!(of("/usr/lib/libcurl.so.4"), None);
        assert_eq!(
            of("/usr/lib/python3.11/encodings/__init__.py"),
            Some(Runtime::Python)
        );
        assert_eq!(
            of("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"),
            Some(Runtime::Go)
        );
        assert_eq!(
            surer(Some(Runtime::C), Some(Runtime::Cpp)),
            Some(Runtime::Cpp)
        );
        assert_eq!(
            surer(Some(Runtime::Node), Some(Runtime::Cpp)),
            Some(Runtime::Node)
        );
    }
}
