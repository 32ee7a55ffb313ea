//! Checks that the tests named in the table of hazards exist.

use std::collections::HashSet;

/// The file with the table.
pub const TABLE: &str = "docs/hazards.md";

/// The names of the tests in a file of Rust.
pub fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        is_test |= is_test_attribute(line);
        let function = line.strip_prefix("async ").unwrap_or(line);
        let (name, _) = function.strip_prefix("fn ")?.split_once('(')?;
        std::mem::take(&mut is_test).then_some(name)
    })
}

/// Whether it is `#[test]`, or the attribute of a runtime: `#[tokio::test]`, `#[tokio::test(flavor = "multi_thread")]`.
fn is_test_attribute(line: &str) -> bool {
    let Some(attribute) = line.strip_prefix("#[") else {
        return false;
    };
    let end = attribute.find(['(', ']']).unwrap_or(attribute.len());
    let path = &attribute[..end];
    path == "test" || path.ends_with("::test")
}

/// The rows whose last column names a test that does not exist.
///
/// The column has each name in backticks; a row may say in words that there is nothing to test.
pub fn without_a_test(table: &str, tests: &HashSet<String>) -> Vec<String> {
    let rows = table.lines().enumerate();
    let rows: Vec<_> = rows.filter(|(_, line)| line.starts_with('|')).collect();
    if rows.len() < 3 {
        return vec![format!("{TABLE}: no table with a heading and a row")];
    }
    let mut findings = Vec::new();
    for (index, row) in rows {
        let column = row.trim_end_matches('|').rsplit('|').next();
        // Every other part stands between two backticks.
        let names = column.unwrap_or_default().split('`').skip(1).step_by(2);
        for name in names.filter(|name| !tests.contains(*name)) {
            let line = index + 1;
            findings.push(format!("{TABLE}:{line}: there is no test named {name}"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_attribute() {
        let code = "\
            fn helper() {}\n\
            #[test]\n\
            #[cfg(target_os = \"linux\")]\n\
            fn first() {\n\
            }\n\
            fn other(a: u8) {}\n\
            proptest! {\n\
                #[test]\n\
                fn second(\n\
            }\n\
            #[tokio::test]\n\
            async fn third() {\n\
            }\n\
            async fn helper_of_third() {}\n\
            #[tokio::test(flavor = \"multi_thread\")]\n\
            async fn fourth() {\n\
            }\n\
            #[cfg(test)]\n\
            fn other_of_tests() {}\n\
            #[latest]\n\
            fn last() {}\n";
        let names: Vec<_> = tests_in(code).collect();
        assert_eq!(names, ["first", "second", "third", "fourth"]);
    }

    #[test]
    fn a_row_that_names_no_existing_test_is_found() {
        let tests = HashSet::from(["here".to_owned()]);
        let table =
            "| hazard | test |\n|---|---|\n| `a` | `here`, `gone` |\n| b | none offered |\n";
        let found = without_a_test(table, &tests);
        assert_eq!(found, ["docs/hazards.md:3: there is no test named gone"]);
        assert_eq!(without_a_test("no table\n", &tests).len(), 1);
    }
}
