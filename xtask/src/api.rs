//! The public API of the library as a list in `crates/vectored/api.txt`, so that a change of it shows in a diff.
//!
//! The list has the paths of rustdoc's JSON, and the signatures as they stand in the sources. The JSON is unstable, but only
//! the tree of items and the places of the items are read. `RUSTC_BOOTSTRAP` lets a stable rustdoc write the JSON. The build
//! has its own folder: in the usual folder, build scripts that read this variable would run again at each change of the
//! variable.

use std::collections::HashMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::commands::{cargo_words, run as run_command};
use crate::root;

const LIST: &str = "crates/vectored/api.txt";
const BUILD: &str = "rustdoc --package vectored --features bytes,load,tokio,uring --locked --quiet --target-dir target/api \
                     -- -Z unstable-options --output-format json";
const HEAD: &str =
    "The public API of `vectored` on Linux with all features, by `cargo xtask api --update`.\n";

/// Compares the list with the sources, or writes it.
pub fn run(update: bool) -> Result<()> {
    run_command(cargo_words(BUILD).env("RUSTC_BOOTSTRAP", "1"))?;
    let json = fs::read_to_string(root().join("target/api/doc/vectored.json"))?;
    let found = list(&serde_json::from_str(&json)?)?;
    let path = root().join(LIST);
    if update {
        fs::write(&path, &found)?;
    }
    if fs::read_to_string(&path).unwrap_or_default() != found {
        bail!(
            "the public API differs from {LIST}: if the change is wanted, run `cargo xtask api --update` and read the diff"
        );
    }
    Ok(())
}

/// The list of a crate, from rustdoc's JSON.
fn list(krate: &Value) -> Result<String> {
    let mut lister = Lister {
        index: &krate["index"],
        sources: HashMap::new(),
        paths: HashMap::new(),
        text: HEAD.to_owned(),
    };
    lister.module(&krate["root"].to_string(), "vectored")?;
    Ok(lister.text)
}

struct Lister<'j> {
    index: &'j Value,
    sources: HashMap<String, String>,
    /// The path under which each item was listed first, by the number of the item.
    paths: HashMap<String, String>,
    text: String,
}

impl<'j> Lister<'j> {
    fn module(&mut self, id: &str, path: &str) -> Result<()> {
        self.text.push_str(&format!("\n## {path}\n"));
        let mut items = Vec::new();
        for id in ids(&self.index[id]["inner"]["module"]["items"]) {
            let (name, id) = match &self.index[&id]["inner"]["use"] {
                Value::Null => (self.index[&id]["name"].clone(), id),
                used => (used["name"].clone(), used["id"].to_string()),
            };
            let name = name.as_str().context("an item without a name")?.to_owned();
            items.push((self.kind(&id) == "module", name, id));
        }
        // Modules come last, so that an item that the root exports is listed at the root.
        items.sort();
        for (is_module, name, id) in items {
            let path = format!("{path}::{name}");
            match self.paths.get(&id) {
                Some(before) => self.text.push_str(&format!("\n{name}: {before}\n")),
                None => {
                    self.paths.insert(id.clone(), path.clone());
                    if is_module {
                        self.module(&id, &path)?;
                    } else {
                        self.item(&id)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn item(&mut self, id: &str) -> Result<()> {
        let signature = self.signature(id)?;
        self.text.push_str(&format!("\n{signature}\n"));
        let inner = &self.index[id]["inner"][self.kind(id)];
        let fields = &inner["kind"]["plain"]["fields"];
        for members in [fields, &inner["variants"], &inner["items"]] {
            self.members(members)?;
        }
        let mut traits = Vec::new();
        for block in ids(&inner["impls"]) {
            let block = &self.index[&block]["inner"]["impl"];
            match &block["trait"]["path"] {
                Value::Null => self.members(&block["items"])?,
                // Implementations that somebody wrote: no blanket `impl`, and no auto trait.
                name if block["blanket_impl"].is_null() && block["is_synthetic"] != true => {
                    // `StructuralPartialEq` is a part of `PartialEq` for the compiler.
                    let name = name.as_str().filter(|name| *name != "StructuralPartialEq");
                    traits.extend(name);
                }
                _ => {}
            }
        }
        traits.sort_unstable();
        traits.dedup();
        if !traits.is_empty() && !inner["impls"].is_null() && self.kind(id) != "trait" {
            self.text
                .push_str(&format!("    impl {}\n", traits.join(", ")));
        }
        Ok(())
    }

    fn members(&mut self, members: &Value) -> Result<()> {
        for id in ids(members) {
            let item = &self.index[&id];
            // The members of a trait and the variants of an enum are as visible as the trait or the enum.
            if item.is_object() && matches!(item["visibility"].as_str(), Some("public" | "default"))
            {
                let signature = self.signature(&id)?;
                self.text.push_str(&format!("    {signature}\n"));
            }
        }
        Ok(())
    }

    fn kind(&self, id: &str) -> &'j str {
        let inner = self.index[id]["inner"].as_object();
        inner
            .and_then(|inner| inner.keys().next())
            .map_or("", |kind| kind)
    }

    /// The source text of an item up to its body, in one line, after the attributes that callers see.
    fn signature(&mut self, id: &str) -> Result<String> {
        let item = &self.index[id];
        let span = &item["span"];
        let file = span["filename"]
            .as_str()
            .context("an item without a place")?;
        if !self.sources.contains_key(file) {
            let text = fs::read_to_string(root().join(file))?;
            self.sources.insert(file.to_owned(), text);
        }
        let at = |end: &str, part: usize| span[end][part].as_u64().unwrap_or_default() as usize;
        let lines: Vec<&str> = self.sources[file]
            .lines()
            .take(at("end", 0))
            .skip(at("begin", 0) - 1)
            .collect();
        let text = lines.join("\n");
        let text = text.get(at("begin", 1) - 1..).unwrap_or_default();
        let ends = match self.kind(id) {
            "struct_field" => &[',', '}'][..],
            "variant" => &[','],
            "constant" | "assoc_const" => &['=', ';'],
            _ => &['{', ';'],
        };
        // A signature does not end inside brackets.
        let (mut depth, mut end) = (0, text.len());
        for (place, c) in text.char_indices() {
            match c {
                '(' | '[' | '<' => depth += 1,
                '>' if text[..place].ends_with('-') => {}
                ')' | ']' | '>' => depth -= 1,
                _ if depth <= 0 && ends.contains(&c) => {
                    end = place;
                    break;
                }
                _ => {}
            }
        }
        let words: Vec<&str> = text[..end].split_whitespace().collect();
        let attributes = item["attrs"].to_string();
        let growing = if attributes.contains("non_exhaustive") { "#[non_exhaustive] " } else { "" };
        let words = words.join(" ").replace("( ", "(").replace(", )", ")");
        Ok(growing.to_owned() + &words)
    }
}

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(Value::to_string).collect()
}
