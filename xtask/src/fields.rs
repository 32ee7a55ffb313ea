//! `cargo xtask fields`: the page of all fields of saved results, from the types that are saved.
//!
//! The command reads the sources as rustfmt leaves them. A test compares the page with results that were saved.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::root;
use crate::sources::{files, read};

pub const PAGE: &str = "docs/fields.md";

const HEAD: &str = "\
# The fields of saved results

By `cargo xtask fields`, from the types. [Saved results](results.md) says what all have in common. A field that may be missing is marked `?`.
";

/// For each schema: its crate, its type, its name, and the command.
const SCHEMAS: &str = "\
measure Results vectored-results/1 measure
measure Experiments vectored-experiments/1 reproduce
measure Comparison vectored-comparison/1 compare --format json
advise Advisory vectored-advice/1 advise
versus Versus vectored-versus/1 versus
machine HostReport vectored-host/1 host --format json";

/// What JSON has in place of a type of Rust that no page lists.
fn form(rust: &str) -> Option<&'static str> {
    Some(match rust {
        "TechniqueName" | "String" | "&'static str" => "text",
        "SweptMix" => "list of [integer, integer or `null`]",
        "CopyThresholds" => "list of [integer, integer]",
        "Known" => "`{\"value\": …}` or `{\"unknown\": reason}`",
        "f64" => "number",
        "bool" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" | "NonZeroUsize" => "integer",
        _ => return None,
    })
}

/// A struct or an enum, by its crate and name.
type Types = BTreeMap<(String, String), Type>;

#[derive(Default)]
struct Type {
    doc: String,
    is_enum: bool,
    members: Vec<Member>,
}

/// A field, or a value of an enum.
#[derive(Default)]
struct Member {
    name: String,
    of: String,
    doc: String,
    is_flat: bool,
    may_lack: bool,
}

pub fn page() -> Result<String> {
    let mut types = Types::new();
    for (of, folder) in [
        ("measure", "vectored-results/src/model"),
        ("machine", "vectored-machine/src/model"),
        ("advise", "vectored-advise/src"),
        ("versus", "vectored-versus/src"),
        ("library", "vectored/src/cost"),
        ("report", "vectored-report/src"),
    ] {
        let is_model = |name: &str| match of {
            "report" => name == "comparison.rs",
            _ if folder.ends_with("src") => matches!(name, "model.rs" | "languages.rs"),
            _ => name.ends_with(".rs"),
        };
        for path in files(&root().join("crates").join(folder), &is_model)? {
            collect(of, &read(&path)?, &mut types);
        }
    }
    let mut page = Page {
        types,
        listed: Vec::new(),
        text: HEAD.to_owned(),
    };
    for line in SCHEMAS.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [of, name, schema, command] = words[..] else {
            bail!("{line}")
        };
        let _ = write!(page.text, "\n## `{command}`: `{schema}`\n");
        page.list(of, name)?;
    }
    Ok(page.text)
}

struct Page {
    types: Types,
    listed: Vec<(String, String)>,
    text: String,
}

impl Page {
    /// The table of a type, then the tables of types that no table named before.
    fn list(&mut self, of: &str, name: &str) -> Result<()> {
        self.listed.push((of.to_owned(), name.to_owned()));
        let found = &self.types[&(of.to_owned(), name.to_owned())];
        let (title, line) = if found.is_enum { ("value", "") } else { ("field | type", "---|") };
        let (heading, about) = (heading(of, name), &found.doc);
        let mut text = format!("\n### {heading}\n{about}\n| {title} | |\n|---|---|{line}\n");
        let mut next = Vec::new();
        for Member {
            name,
            doc,
            of: rust,
            is_flat,
            may_lack,
        } in &found.members
        {
            let mut kind = self.kind(of, rust, &mut next)?;
            if *may_lack {
                kind = kind.trim_end_matches(" or `null`").to_owned();
            }
            let lacks = if *may_lack { "?" } else { "" };
            let _ = match (is_flat, found.is_enum) {
                (true, _) => writeln!(text, "| | the fields of {kind} | {doc} |"),
                (_, true) => writeln!(text, "| `{name}`{lacks} | {doc} |"),
                _ => writeln!(text, "| `{name}`{lacks} | {kind} | {doc} |"),
            };
        }
        self.text.push_str(&text);
        for (of, name) in next {
            if !self.listed.contains(&(of.clone(), name.clone())) {
                self.list(&of, &name)?;
            }
        }
        Ok(())
    }

    /// A type of Rust in the words of JSON. Types to list go to `next`.
    fn kind(&self, of: &str, rust: &str, next: &mut Vec<(String, String)>) -> Result<String> {
        let (outer, inner) = rust.split_once('<').unwrap_or((rust, ""));
        let inner = inner.strip_suffix('>').unwrap_or(inner);
        if let Some(form) = form(outer) {
            return Ok(form.to_owned());
        }
        let array = rust
            .strip_prefix('[')
            .and_then(|array| array.split(';').next());
        Ok(match (outer, array) {
            ("", _) => String::new(),
            (_, Some(element)) => format!("list of {}", self.kind(of, element, next)?),
            ("Option", _) => format!("{} or `null`", self.kind(of, inner, next)?),
            ("Vec", _) => format!("list of {}", self.kind(of, inner, next)?),
            ("BTreeMap", _) => {
                let (_, value) = inner.split_once(", ").context("a map")?;
                format!("object of {}", self.kind(of, value, next)?)
            }
            _ if rust.starts_with('(') => {
                let parts = rust[1..].trim_end_matches(')').split(", ");
                let parts = parts.map(|part| self.kind(of, part, next));
                format!("[{}]", parts.collect::<Result<Vec<_>>>()?.join(", "))
            }
            _ => {
                let key = (of.to_owned(), rust.to_owned());
                let mut others = self.types.keys().filter(|(_, name)| name == rust);
                let found = if self.types.contains_key(&key) { Some(&key) } else { others.next() };
                let (of, name) = found.with_context(|| format!("no type {rust}"))?;
                let heading = heading(of, name);
                let anchor = heading.to_lowercase().replace(' ', "-");
                next.push((of.clone(), name.clone()));
                format!("[{heading}](#{anchor})")
            }
        })
    }
}

/// The heading of a type. Some names are in two crates, with different types.
fn heading(of: &str, name: &str) -> String {
    match (of, name) {
        ("versus", "Change" | "Compared" | "Comparison") => format!("{name} of versus"),
        ("machine", "Operation") => "Operation of a price".into(),
        _ => name.to_owned(),
    }
}

fn collect(of: &str, text: &str, types: &mut Types) {
    let (mut doc, mut attributes) = (String::new(), String::new());
    let mut open: Option<(String, Type)> = None;
    let mut mark = "-";
    for line in text.lines().map(str::trim) {
        if line.starts_with("mod tests") {
            break;
        }
        if let Some(words) = line.strip_prefix("///") {
            doc.push_str(words);
            doc.push_str(if words.is_empty() { "\n" } else { "" });
            continue;
        }
        if ["#[", "serde(", "derive("]
            .iter()
            .any(|start| line.starts_with(start))
        {
            attributes.push_str(line);
            continue;
        }
        let is_enum = line.starts_with("pub enum ");
        let declared = line
            .strip_prefix("pub enum ")
            .or(line.strip_prefix("pub struct "));
        if let Some(name) = declared.and_then(|line| line.strip_suffix(" {")) {
            mark = if attributes.contains("snake_case") { "_" } else { "-" };
            let doc = first(&doc);
            let doc = if doc.is_empty() { doc } else { format!("\n{doc}\n") };
            let found = Type {
                doc,
                is_enum,
                members: Vec::new(),
            };
            open = Some((name.split('<').next().unwrap_or(name).to_owned(), found));
        } else if line == "}" {
            let found = open.take();
            types.extend(found.map(|(name, found)| ((of.to_owned(), name), found)));
        } else if let Some((_, found)) = &mut open {
            let member = member(line, found.is_enum, &first(&doc), &attributes, mark);
            found.members.extend(member);
        }
        if line != "feature = \"serde\"," && line != ")]" {
            doc.clear();
            attributes.clear();
        }
    }
}

/// A line of a struct or enum.
fn member(line: &str, is_enum: bool, doc: &str, attributes: &str, mark: &str) -> Option<Member> {
    // A member that only tests have is not saved.
    let line = line
        .strip_suffix(',')
        .filter(|_| !attributes.contains("cfg(test)"))?;
    let renamed = attributes.split_once("rename = \"");
    let (name, of) = match line.split_once(" = ") {
        _ if !is_enum => line.trim_start_matches("pub ").split_once(": ")?,
        Some((_, word)) => (word.trim_matches('"'), ""),
        None => match renamed {
            Some((_, word)) => (word.split('"').next()?, ""),
            None => (line.split(['(', ' ']).next()?, ""),
        },
    };
    let is_word = is_enum && !line.contains(" = ") && renamed.is_none();
    Some(Member {
        name: if is_word {
            lower(name, mark)
        } else {
            name.trim_start_matches("r#").to_owned()
        },
        of: of.to_owned(),
        doc: doc.to_owned(),
        is_flat: attributes.contains("flatten"),
        may_lack: attributes.contains("skip_serializing_if"),
    })
}

/// A name of Rust in lower case, with a mark between its words.
fn lower(name: &str, mark: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push_str(mark);
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// The first paragraph of a documentation, without links between items.
fn first(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc.trim().split('\n').next().unwrap_or_default();
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let Some((name, behind)) = after.split_once(']') else {
            break;
        };
        // An interval such as `[low, high]` is no link.
        let is_link = name.starts_with('`') || behind.starts_with('(');
        let name = name.rsplit("::").next().unwrap_or(name);
        let ticks = if name.ends_with('`') && !name.starts_with('`') { "`" } else { "" };
        text.push_str(&if is_link { format!("{ticks}{name}") } else { format!("[{name}]") });
        let target = behind
            .strip_prefix('(')
            .and_then(|behind| behind.split_once(')'));
        rest = target.map_or(behind, |(_, behind)| behind);
    }
    text.push_str(rest);
    text.replace("`None`", "`null`").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the fields in a result. Objects whose fields are named by system calls are left out.
    fn names(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    found.push(name.clone());
                    if name != "kinds" {
                        names(value, found);
                    }
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_field_of_saved_results_is_on_the_page() {
        let page = page().unwrap();
        let folder = root().join("crates/vectored-cli/tests/it/documented");
        let mut found = Vec::new();
        for path in files(&folder, &|name| name.ends_with(".json")).unwrap() {
            names(
                &serde_json::from_str(&read(&path).unwrap()).unwrap(),
                &mut found,
            );
        }
        found.sort();
        found.dedup();
        let is_missing = |name: &&String| !page.contains(&format!("| `{name}`"));
        let missing: Vec<&String> = found.iter().filter(is_missing).collect();
        assert!(missing.is_empty() && found.len() > 150, "{missing:?}");
    }

    #[test]
    fn links_between_items_lose_their_paths() {
        let doc = " Of [`Verdict::Open`], [a tie](Verdict::Tie), [low, high].\n\n More.";
        assert_eq!(first(doc), "Of `Open`, a tie, [low, high].");
    }
}
