//! Readable names of functions, and whether a function belongs to a library of its language.

use cpp_demangle::{DemangleOptions, Symbol};

/// What compilers append to the name of a part or a copy of a function.
const PARTS: &str = ".part. .constprop. .isra. .cold .llvm. .lto_priv.";

/// The name of a symbol, without its argument and return types.
pub(crate) fn readable(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let symbol = PARTS
        .split(' ')
        .fold(symbol, |name, part| name.split(part).next().unwrap_or(name));
    let options = DemangleOptions::new().no_params().no_return_type();
    let of_cpp = Symbol::new(symbol).ok();
    let name = of_cpp.and_then(|name| name.demangle_with_options(&options).ok());
    name.unwrap_or_else(|| symbol.to_owned())
}

/// Whether a function belongs to the library of a language, by its readable name and the path of its source.
pub(crate) fn is_of_language(name: &str, path: &str) -> bool {
    const PATHS: &str = "/rustlib/src/ /include/c++/ /src_musl/ /musl- /glibc-";
    const NAMES: &str = "std::,core::,alloc::,<std::,<core::,<alloc::,<&,<[,<(,<dyn ,<*,<T as ,__rust,__gnu_cxx::,__cxxabiv1::,_ZNS,_ZNKS,_ZS";
    name == "_start"
        || path.starts_with("/rustc/")
        || PATHS.split(' ').any(|part| path.contains(part))
        || NAMES.split(',').any(|with| name.starts_with(with))
}

/// Whether a function of a static program without line numbers may belong to the C library.
pub(crate) fn is_of_c(name: &str) -> bool {
    const KNOWN: &str = "new_do_write write writev pwrite pwrite64 pwritev pwritev64 read readv pread pread64 send sendto sendmsg recv recvfrom recvmsg fwrite \
        fwrite_unlocked fread fread_unlocked fputs fputs_unlocked puts fputc putc putchar putw fflush fflush_unlocked fclose fgets getline getdelim fgetc getc \
        getchar fseek fseeko ftell rewind setvbuf open openat open64 fopen fopen64 close lseek lseek64 syscall perror exit sendfile sendfile64 splice \
        copy_file_range fsync fdatasync poll select connect accept abort system flockfile psignal";
    let is_known = KNOWN.split_whitespace().any(|known| known == name);
    name.starts_with('_')
        || name.starts_with("str")
        || name.starts_with("mem")
        || name.contains("printf")
        || is_known
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "\
site.constprop.0.isra.0 = site
_ZN5inner6site_0EiRSt14basic_ofstreamIcSt11char_traitsIcEE = inner::site_0
_Z9generic_2IlET_i = generic_2<long>
_ZN12_GLOBAL__N_13putEi = (anonymous namespace)::put
_ZZN4Each3runEvENKUlvE_clEv.cold = Each::run()::{lambda()#1}::operator() const
_ZN7program4main17h0123456789abcdefE = program::main
_RNvCs15kBYyAo9fc_7program4main = program::main
_ZNS_ = _ZNS_";

    #[test]
    fn names_are_without_types() {
        for row in NAMES.lines() {
            let (symbol, name) = row.split_once(" = ").unwrap();
            assert_eq!(readable(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn functions_of_libraries_are_known() {
        for (name, path, expected) in [
            ("<alloc::vec::Vec<u8> as std::io::Write>::write", "", true),
            ("write_all<program::Out>", "/rustc/0123/io/mod.rs", true),
            ("<program::Out as std::io::Write>::write", "/own.rs", false),
        ] {
            assert_eq!(is_of_language(name, path), expected, "{name}");
        }
        assert!(is_of_c("_IO_new_file_write") && is_of_c("fwrite") && !is_of_c("site"));
    }
}
