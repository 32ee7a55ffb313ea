//! Finds rooms of a crate that import from above.
//!
//! A room is a folder or a file in a crate's `src`. The rooms of a crate stand on floors; a room imports from
//! lower floors only. Tests may import from anywhere: modules named `tests`, `…_tests` or `testing`, and items under a `cfg`
//! with `test`. The text is searched for paths: it finds an oversight, but not code that is written to evade the rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tidy::{rust_files, without_comment};

/// The rooms of a crate by floor, the lowest first.
pub struct Crate {
    /// Its folder.
    pub folder: &'static str,
    /// Its rooms by floor.
    pub floors: &'static [&'static [&'static str]],
}

/// The breaches of the rule in a crate.
pub fn findings(root: &Path, of: &Crate) -> Result<BTreeSet<String>> {
    let sources = root.join(of.folder).join("src");
    let read = |path: &Path| {
        let text = fs::read_to_string(path);
        text.with_context(|| format!("cannot read '{}'", path.display()))
    };
    let exports = read(&sources.join("lib.rs")).unwrap_or_default();
    let mut findings = BTreeSet::new();
    for path in rust_files(&sources)? {
        let module = path.strip_prefix(&sources)?.with_extension("");
        let mut module: Vec<&str> = module.iter().filter_map(|part| part.to_str()).collect();
        module.retain(|part| *part != "mod");
        let is_test =
            |part: &&str| matches!(*part, "tests" | "testing") || part.ends_with("_tests");
        if !matches!(module[0], "lib" | "main" | "bin") && !module.iter().any(is_test) {
            let found = from_above(&module, &read(&path)?, &exports, of.floors);
            findings.extend(
                found
                    .iter()
                    .map(|finding| format!("{}: {finding}", of.folder)),
            );
        }
    }
    Ok(findings)
}

/// What a module imports from the floor of its room or a higher one. `exports` is the text of the crate's root.
fn from_above(module: &[&str], text: &str, exports: &str, floors: &[&[&str]]) -> Vec<String> {
    let floor_of = |room: &str| floors.iter().position(|floor| floor.contains(&room));
    let room = module[0];
    let Some(floor) = floor_of(room) else {
        return vec![format!(
            "room `{room}` stands on no floor: list it in xtask/src/tidy.rs"
        )];
    };
    let code = code_of(text);
    let names = imported(&code, module.len());
    let rooms = names.filter_map(|name| match floor_of(name) {
        Some(_) => Some(name),
        // The root re-exports it from a room.
        None => exports.split(';').find_map(|statement| {
            let (_, path) = statement.split_once("use ")?;
            let room = path.trim_start_matches("crate::").split("::").next()?;
            words(path).any(|word| word == name).then_some(room)
        }),
    });
    let from_above = rooms.filter(|from| *from != room && floor_of(from) >= Some(floor));
    let module = module.join("::");
    let line = |from| format!("{module} imports from {from}: it may import from lower floors only");
    from_above.map(line).collect()
}

/// The lines of code that are not of tests.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("#[cfg(") && words(line).any(|word| word == "test") {
            // The tests are the end of a file.
            if lines.clone().next() == Some("mod tests {") {
                break;
            }
            lines.find(|line| line.ends_with([';', '}']));
        } else {
            code.push_str(&without_comment(line));
            code.push('\n');
        }
    }
    code
}

/// The first names of the paths that begin at the root of the crate, in a module of this depth.
fn imported(code: &str, depth: usize) -> impl Iterator<Item = &str> {
    let of_crate = code
        .match_indices("crate::")
        .map(|(at, path)| at + path.len());
    let supers = "super::".repeat(depth);
    let of_super = code
        .match_indices(&supers)
        .map(|(at, path)| at + path.len());
    let starts: Vec<usize> = of_crate.chain(of_super).collect();
    starts.into_iter().flat_map(|start| {
        let path = code[start..].trim_start_matches("super::");
        let group = path.strip_prefix('{');
        let end = if group.is_some() { ';' } else { ':' };
        let path = group.unwrap_or(path).split(end).next().unwrap_or_default();
        let mut inner = 0;
        // The parts of a group, without groups within it.
        let parts = path.split(move |c| {
            inner += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            c == ',' && inner == 0
        });
        parts.filter_map(|part| words(part).find(|word| !word.is_empty()))
    })
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_from_above_is_found_however_it_is_written() {
        let floors: [&[&str]; 2] = [&["low"], &["high"]];
        let exports = "mod low; mod high; pub use high::Thing;";
        let found = |text| from_above(&["low", "inner"], text, exports, &floors);
        for text in [
            "use crate::high::Thing;",
            "use crate::{high::{self, Thing}};",
            "use crate::{\n    low::{self, Other},\n    high,\n};",
            "use crate::Thing;",
            "fn f() { crate::high::g() }",
            "use super::super::high::g;",
            "mod inner { use super::super::super::high::g; }",
        ] {
            let expected = "low::inner imports from high: it may import from lower floors only";
            assert!(found(text).iter().all(|line| line == expected), "{text}");
            assert!(!found(text).is_empty(), "{text}");
        }
        for text in [
            "use super::Other; use std::io; use rustix::high::Thing; pub(super) fn f() {}",
            "use crate::low::{self, Thing}; use crate::low::high;",
            "// crate::high",
            "#[cfg(test)]\nmod tests {\n    use crate::high::Thing;\n}",
            "#[cfg(all(test, unix))]\nuse crate::high::Thing;",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
        assert_eq!(
            from_above(&["attic"], "", "", &floors),
            ["room `attic` stands on no floor: list it in xtask/src/tidy.rs"]
        );
    }
}
