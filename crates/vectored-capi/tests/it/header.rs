//! `include/vectored.h` is what cbindgen makes of this crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> PathBuf {
    here().join("include/vectored.h")
}

/// The header that follows from the sources.
fn generated() -> String {
    let config = cbindgen::Config::from_file(here().join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let mut text = Vec::new();
    let bindings = builder.with_crate(here()).generate().unwrap();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_committed_header_is_the_generated_one() {
    let generated = generated();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
        std::fs::write(header(), &generated).unwrap();
    }
    let committed = std::fs::read_to_string(header()).unwrap();
    assert!(
        committed == generated,
        "include/vectored.h is not what cbindgen makes of the crate: run INSTA_UPDATE=always cargo test -p vectored-capi"
    );
}

/// The functions that the sources export.
fn exported() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(here().join("src")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let after_mark = text.split("#[unsafe(no_mangle)]\n").skip(1);
        for function in after_mark {
            let name = function.split("fn ").nth(1).unwrap();
            names.insert(name.split('(').next().unwrap().to_owned());
        }
    }
    names
}

#[test]
fn every_exported_function_is_declared_with_a_comment_before_it() {
    let text = generated();
    let names = exported();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        assert!(name.starts_with("vectored_"), "{name}");
        let lines: Vec<&str> = text.lines().collect();
        let declared = lines
            .iter()
            .position(|line| !line.starts_with(' ') && line.contains(&format!("{name}(")));
        let declared = declared.unwrap_or_else(|| panic!("{name} is not in the header"));
        assert_eq!(lines[declared - 1].trim(), "*/", "{name} has no comment");
    }
}
