//! What the modules of a crate import from each other, found in the text of the code.

use std::path::Path;

use anyhow::Result;

use crate::root;
use crate::sources::{read, rust_files};

/// A folder, as the modules in it see it.
pub struct Home {
    /// The path that leads to its modules, as `crate::`.
    pub path: String,
    /// The text of the module there, with its re-exports.
    pub exports: String,
}

/// A module that is neither a test nor the root of a crate.
pub struct Module {
    /// Its path below a folder.
    pub path: Vec<String>,
    pub code: String,
}

impl Home {
    /// The folder at this path of the repository: `src` of a crate, or below.
    pub fn at(folder: &str) -> Home {
        let (_, below) = folder.split_once("/src").unwrap_or_default();
        let files = ["/lib.rs", "/main.rs", "/mod.rs", ".rs"];
        let texts =
            files.map(|name| read(Path::new(&format!("{}/{folder}{name}", root().display()))));
        Home {
            path: format!("crate{below}/").replace('/', "::"),
            exports: texts.into_iter().flatten().collect(),
        }
    }

    /// The entries of this folder that a module imports from. The module lies `depth` folders below this folder.
    pub fn imported<'t>(
        &'t self,
        code: &'t str,
        depth: usize,
        is_entry: impl Fn(&str) -> bool,
    ) -> Vec<&'t str> {
        // The module there re-exports other names from an entry.
        let exported = |name| {
            self.exports.split(';').find_map(|statement| {
                let (_, path) = statement.split_once("use ")?;
                let entry = path.trim_start_matches(&self.path).split("::").next()?;
                words(path).any(|word| word == name).then_some(entry)
            })
        };
        let entry = |name| if is_entry(name) { Some(name) } else { exported(name) };
        imported(code, &self.path, depth)
            .filter_map(entry)
            .collect()
    }
}

/// The modules below a folder, but for tests and the root of a crate.
pub fn modules(folder: &Path) -> Result<Vec<Module>> {
    let mut modules = Vec::new();
    for file in rust_files(folder)? {
        let path = file.strip_prefix(folder)?.with_extension("");
        let path = path.iter().map(|part| part.to_string_lossy().into_owned());
        let path: Vec<String> = path.filter(|part| part != "mod").collect();
        let is_test =
            |part: &String| matches!(&**part, "tests" | "testing") || part.ends_with("_tests");
        let is_root = |room: &String| matches!(&**room, "lib" | "main" | "bin");
        if !path.first().is_none_or(is_root) && !path.iter().any(is_test) {
            let code = code_of(&read(&file)?);
            modules.push(Module { path, code });
        }
    }
    Ok(modules)
}

/// The lines of code that do not belong to tests.
pub fn code_of(text: &str) -> String {
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

/// The first name after `home` of each path in a module of this depth.
fn imported<'c>(code: &'c str, home: &str, depth: usize) -> impl Iterator<Item = &'c str> {
    let supers = "super::".repeat(depth);
    let ends = |of: &str| -> Vec<usize> {
        code.match_indices(of)
            .map(|(at, path)| at + path.len())
            .collect()
    };
    let starts = [ends(home), ends(&supers)].concat();
    starts.into_iter().flat_map(|start| {
        let path = code[start..].trim_start_matches("super::");
        let group = path.strip_prefix('{');
        let end = if group.is_some() { ';' } else { ':' };
        let path = group.unwrap_or(path).split(end).next().unwrap_or_default();
        let mut inner = 0;
        // The parts of a group, without groups within it.
        let parts = path.split(move |c| {
            inner += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && inner == 0
        });
        parts.filter_map(|part| words(part).find(|word| !word.is_empty()))
    })
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// A line without comments and without the text in quotes.
pub fn without_comment(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if quoted => {
                characters.next();
            }
            // Not the character '"', as in `'"'`.
            '"' if quoted || !code.ends_with('\'') => quoted = !quoted,
            '/' if !quoted && characters.peek() == Some(&'/') => break,
            _ if !quoted => code.push(c),
            _ => {}
        }
    }
    code
}
