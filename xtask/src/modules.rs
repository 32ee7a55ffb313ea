//! Finds circles among the imports of a crate's modules, and rooms that import from above.
//!
//! A room is a folder or a file in a crate's `src`. The rooms of a crate stand on floors; a room imports from
//! lower floors only. Tests (`#[cfg(test)]`) may import from anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemUse, UseTree};

/// The rooms of a crate by floor, the lowest first.
pub struct Crate {
    /// Its folder.
    pub folder: &'static str,
    /// Its rooms by floor; empty if only circles are searched for.
    pub floors: &'static [&'static [&'static str]],
}

/// The path of a module in its crate: `["gather", "plan"]`; the crate's root is empty.
type Module = Vec<String>;

/// The imports between a crate's modules.
#[derive(Debug, Default)]
struct Imports {
    /// Module to the modules that it imports from.
    edges: BTreeMap<Module, BTreeSet<Module>>,
}

/// The breaches of the rules in a crate.
///
/// # Errors
///
/// When a file cannot be read or is not Rust.
pub fn findings(root: &Path, of: &Crate) -> Result<Vec<String>> {
    let sources = root.join(of.folder).join("src");
    let mut files = BTreeMap::new();
    collect(&sources, &mut Vec::new(), &mut files)?;
    let imports = imports(&files);
    let mut findings = match of.floors.is_empty() {
        true => Vec::new(),
        false => from_above(&imports, of.floors),
    };
    let circles = circles(&imports).into_iter().map(|circle| {
        let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
        format!("import each other: {}", names.join(", "))
    });
    findings.extend(circles);
    Ok(findings
        .into_iter()
        .map(|finding| format!("{}: {finding}", of.folder))
        .collect())
}

/// Reads all modules below a folder, but for programs (`bin`).
fn collect(folder: &Path, at: &mut Module, files: &mut BTreeMap<Module, File>) -> Result<()> {
    let cannot = || format!("cannot read '{}'", folder.display());
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).with_context(cannot)?.collect();
    for entry in entries.with_context(cannot)? {
        let path = entry.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if stem == "bin" {
                continue;
            }
            at.push(stem.into_owned());
            collect(&path, at, files)?;
            at.pop();
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).with_context(cannot)?;
            let file = syn::parse_file(&text)
                .with_context(|| format!("cannot parse '{}'", path.display()))?;
            let mut module = at.clone();
            if !matches!(&*stem, "mod" | "lib" | "main") {
                module.push(stem.into_owned());
            }
            files.insert(module, file);
        }
    }
    Ok(())
}

fn imports(files: &BTreeMap<Module, File>) -> Imports {
    let only_for_tests = only_for_tests(files);
    let is_for_tests = |module: &Module| {
        only_for_tests
            .iter()
            .any(|test| module.starts_with(test.as_slice()))
    };
    let exports = files.get(&Vec::new()).map(exports).unwrap_or_default();
    let mut imports = Imports::default();
    for (module, file) in files.iter().filter(|(module, _)| !is_for_tests(module)) {
        let mut reader = Reader {
            module: module.clone(),
            children: children(module, files),
            paths: Vec::new(),
        };
        reader.visit_file(file);
        let known = |path: &[String]| defining(path, files, &exports);
        let used = reader.paths.iter().filter_map(|path| known(path));
        let used = used.filter(|used| used != module && !is_for_tests(used) && !module.is_empty());
        imports.edges.insert(module.clone(), used.collect());
    }
    imports
}

/// The names of the modules in the folder of one.
fn children(module: &Module, files: &BTreeMap<Module, File>) -> BTreeSet<String> {
    let inner = files
        .keys()
        .filter(|path| path.len() == module.len() + 1 && path.starts_with(module.as_slice()));
    inner.filter_map(|path| path.last().cloned()).collect()
}

/// The module that defines the item of an absolute path.
fn defining(
    path: &[String],
    files: &BTreeMap<Module, File>,
    exports: &BTreeMap<String, Module>,
) -> Option<Module> {
    let longest = (1..=path.len()).rev();
    let module = longest
        .map(|count| &path[..count])
        .find(|start| files.contains_key(*start));
    match module {
        Some(module) => Some(module.to_vec()),
        None => exports.get(path.first()?).cloned(),
    }
}

/// The names that the crate's root re-exports, with their modules.
fn exports(root: &File) -> BTreeMap<String, Module> {
    let mut exports = BTreeMap::new();
    for item in &root.items {
        if let Item::Use(item) = item {
            for path in paths_of(&item.tree) {
                if let Some((name, module)) = path.split_last() {
                    let module: Module = module
                        .iter()
                        .filter(|part| *part != "crate")
                        .cloned()
                        .collect();
                    exports.insert(name.clone(), module);
                }
            }
        }
    }
    exports
}

/// Modules that are declared under `#[cfg(test)]`.
fn only_for_tests(files: &BTreeMap<Module, File>) -> BTreeSet<Module> {
    let mut tests = BTreeSet::new();
    for (module, file) in files {
        for item in &file.items {
            if let Item::Mod(inner) = item
                && is_test(&inner.attrs)
            {
                let mut path = module.clone();
                path.push(inner.ident.to_string());
                tests.insert(path);
            }
        }
    }
    tests
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && condition_of(attribute).is_some_and(|condition| condition.contains("test"))
    })
}

/// The text in the parentheses of an attribute.
fn condition_of(attribute: &Attribute) -> Option<String> {
    let list = attribute.meta.require_list().ok()?;
    Some(list.tokens.to_string())
}

/// Collects the paths of one module that begin in its crate, as absolute ones.
struct Reader {
    module: Module,
    /// The modules in its folder, whose names begin a path as well.
    children: BTreeSet<String>,
    paths: Vec<Module>,
}

impl Reader {
    fn note(&mut self, path: &[String]) {
        let mut base = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.clone(),
            Some(name) if path.len() > 1 && self.children.contains(name) => self.module.clone(),
            _ => return,
        };
        let mut rest = path;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" | "self" => {}
                "super" => drop(base.pop()),
                _ => break,
            }
            rest = after;
        }
        base.extend(rest.iter().cloned());
        self.paths.push(base);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A module in the file: `super` is the file.
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for path in paths_of(&item.tree) {
            self.note(&path);
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(super)` imports nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        let names: Module = segments.map(|one| one.ident.to_string()).collect();
        self.note(&names);
        visit::visit_path(self, path);
    }
}

/// All paths that a `use` names.
fn paths_of(tree: &UseTree) -> Vec<Module> {
    let behind = |name: String, rest: Vec<Module>| {
        let join = |mut path: Module| {
            path.insert(0, name.clone());
            path
        };
        rest.into_iter().map(join).collect()
    };
    match tree {
        UseTree::Path(path) => behind(path.ident.to_string(), paths_of(&path.tree)),
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(name) => vec![vec![name.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(paths_of).collect(),
    }
}

/// Imports from the same floor or a higher one, and rooms without a floor.
fn from_above(imports: &Imports, floors: &[&[&str]]) -> Vec<String> {
    let floor_of = |room: &str| floors.iter().position(|floor| floor.contains(&room));
    let mut findings = BTreeSet::new();
    for (module, used) in &imports.edges {
        let Some(room) = module.first() else { continue };
        let Some(floor) = floor_of(room) else {
            findings.insert(format!(
                "room `{room}` stands on no floor: list it in xtask/src/tidy.rs"
            ));
            continue;
        };
        for other in used {
            let Some(from) = other.first().filter(|from| *from != room) else {
                continue;
            };
            if floor_of(from).is_some_and(|from| from >= floor) {
                findings.insert(format!(
                    "{} imports from {}: room `{room}` may import from lower floors only",
                    module.join("::"),
                    other.join("::")
                ));
            }
        }
    }
    findings.into_iter().collect()
}

/// Modules that import each other, directly or through others.
fn circles(imports: &Imports) -> Vec<Vec<Module>> {
    let reached = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from.clone()];
        while let Some(module) = next.pop() {
            for used in imports.edges.get(&module).into_iter().flatten() {
                if seen.insert(used.clone()) {
                    next.push(used.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&Module, BTreeSet<Module>> = imports
        .edges
        .keys()
        .map(|module| (module, reached(module)))
        .collect();
    let mut circles: BTreeSet<Vec<Module>> = BTreeSet::new();
    for (module, reached) in &reach {
        if reached.contains(*module) {
            let circle = reached
                .iter()
                .filter(|other| reach.get(other).is_some_and(|from| from.contains(*module)));
            circles.insert(circle.cloned().collect());
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> BTreeMap<Module, File> {
        let module = |name: &str| -> Module {
            name.split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        files
            .iter()
            .map(|(name, text)| (module(name), syn::parse_file(text).unwrap()))
            .collect()
    }

    #[test]
    fn an_import_from_above_is_found_however_it_is_written() {
        let floors: [&[&str]; 2] = [&["low"], &["high"]];
        let root = ("", "mod low; mod high; pub use high::Thing;");
        for text in [
            "use crate::high::Thing;",
            "use crate::{high::{self, Thing}};",
            "use crate::Thing;",
            "fn f() { crate::high::g() }",
            "use super::high::g;",
            "mod inner { use super::super::high::g; }",
        ] {
            let imports = imports(&files(&[root, ("low", text), ("high", "")]));
            assert_eq!(
                from_above(&imports, &floors),
                ["low imports from high: room `low` may import from lower floors only"],
                "{text}"
            );
        }
        for text in [
            "use super::Other; use std::io; use rustix::high::Thing; pub(super) fn f() {}",
            "#[cfg(test)] mod tests { use crate::high::Thing; }",
            "#[cfg(all(test, unix))] use crate::high::Thing;",
        ] {
            let imports = imports(&files(&[root, ("low", text), ("high", "")]));
            assert!(from_above(&imports, &floors).is_empty(), "{text}");
        }
        let unknown = imports(&files(&[root, ("attic", "")]));
        assert_eq!(
            from_above(&unknown, &floors),
            ["room `attic` stands on no floor: list it in xtask/src/tidy.rs"]
        );
    }

    #[test]
    fn modules_that_import_each_other_are_a_circle() {
        let all = files(&[
            ("", "mod a; #[cfg(test)] mod helper;"),
            ("a", "mod b; mod c; mod d; use self::b::B;"),
            ("a::b", "use super::c::C;"),
            ("a::c", "use super::d::D;"),
            ("a::d", "use crate::a::b::B;"),
            ("a::e", "use super::b::B; pub(super) fn f() {}"),
            ("helper", "use crate::a::b::B;"),
        ]);
        let found = circles(&imports(&all));
        let names: Vec<String> = found
            .iter()
            .map(|circle| {
                circle
                    .iter()
                    .map(|module| module.join("::"))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(names, ["a::b a::c a::d"]);
        // A module and one in its folder.
        let all = files(&[
            ("", "mod a;"),
            ("a", "mod b; fn f() { b::g() }"),
            ("a::b", "use super::f;"),
        ]);
        assert_eq!(circles(&imports(&all)).len(), 1);
    }
}
