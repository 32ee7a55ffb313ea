//! The manual pages, from the definitions of the options.

use clap::CommandFactory;
use clap_mangen::Man;
use roff::{Roff, bold, roman};

use crate::args::Cli;

/// A page of section 1.
pub struct Page {
    /// `vectored`, or `vectored-measure`.
    pub name: String,
    /// Text for man(1).
    pub roff: String,
}

impl Page {
    pub fn file_name(&self) -> String {
        format!("{}.1", self.name)
    }
}

/// All pages. The first one is that of the program.
pub fn pages() -> Vec<Page> {
    let program = program();
    let mut commands = vec![program.clone()];
    commands.extend(below(&program, "vectored"));
    let names: Vec<String> = commands.iter().map(name_of).collect();
    let pages = commands.iter().enumerate().map(|(index, command)| {
        let others = names.iter().enumerate().filter(|(at, _)| *at != index);
        page(
            command,
            &others.map(|(_, name)| name.clone()).collect::<Vec<_>>(),
        )
    });
    pages.collect()
}

fn program() -> clap::Command {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    program
}

/// The subcommands, each before its own.
fn below(command: &clap::Command, name: &str) -> Vec<clap::Command> {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown
        .flat_map(|one| {
            let name = format!("{name}-{}", one.get_name());
            let its_own = below(one, &name);
            std::iter::once(one.clone().display_name(name)).chain(its_own)
        })
        .collect()
}

fn name_of(command: &clap::Command) -> String {
    command
        .get_display_name()
        .unwrap_or(command.get_name())
        .to_owned()
}

fn page(command: &clap::Command, see_also: &[String]) -> Page {
    let name = name_of(command);
    let man = Man::new(command.clone()).section("1");
    // Without a date, so that the same source always gives the same page. The crate would leave the empty word out.
    let mut text = format!(
        ".TH \"{}\" \"1\" \"\" \"vectored {}\" \"User Commands\"\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION")
    )
    .into_bytes();
    let write = |text: &mut Vec<u8>| -> std::io::Result<()> {
        man.render_name_section(text)?;
        man.render_synopsis_section(text)?;
        man.render_description_section(text)?;
        man.render_options_section(text)?;
        if command.has_subcommands() {
            man.render_subcommands_section(text)?;
        }
        if let Some(after) = command.get_after_long_help() {
            sections(&after.to_string()).to_writer(text)?;
        }
        section_of_pages(see_also).to_writer(text)
    };
    write(&mut text).expect("a Vec takes all bytes");
    Page {
        name,
        roff: String::from_utf8(text).expect("the pages are UTF-8"),
    }
}

/// The text after the options, as sections of a page.
///
/// A line without indentation that has a colon in its first words begins a section: `Examples:`, or
/// `Exit status: 0 success`. Lines with two spaces are terms, and lines with more describe the term above.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut is_described = false;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim();
        match indent {
            _ if words.is_empty() => {}
            0 => {
                let (heading, rest) = match words.split_once(':') {
                    Some((heading, rest)) if heading.split(' ').count() <= MAX_HEADING_WORDS => {
                        (Some(heading), rest.trim())
                    }
                    _ => (None, words),
                };
                match heading {
                    Some(heading) => drop(roff.control("SH", [heading.to_uppercase().as_str()])),
                    None => drop(roff.control("PP", [])),
                }
                if !rest.is_empty() {
                    roff.text([roman(rest)]);
                }
            }
            TERM_INDENT => {
                roff.control("TP", []);
                roff.text([bold(words)]);
                is_described = false;
            }
            _ => {
                if is_described {
                    roff.control("br", []);
                }
                roff.text([roman(words)]);
                is_described = true;
            }
        }
    }
    roff
}

/// Words of a heading such as "Exit status".
const MAX_HEADING_WORDS: usize = 3;

/// Spaces before a term in the texts of the options.
const TERM_INDENT: usize = 2;

fn section_of_pages(names: &[String]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 < names.len() { ", " } else { "" };
        line.push(bold(name));
        line.push(roman(format!("(1){comma}")));
    }
    roff.text(line);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without the escapes and fonts of roff.
    fn plain(roff: &str) -> String {
        let mut text = roff.replace("\\-", "-").replace("\\*(Aq", "'");
        for font in ["\\fB", "\\fI", "\\fR"] {
            text = text.replace(font, "");
        }
        text
    }

    #[test]
    fn each_subcommand_has_a_page_with_all_options_and_sections() {
        let program = program();
        let pages = pages();
        let commands: Vec<clap::Command> = std::iter::once(program.clone())
            .chain(below(&program, "vectored"))
            .collect();
        assert_eq!(pages.len(), commands.len());
        for (page, command) in pages.iter().zip(commands) {
            let text = plain(&page.roff);
            for option in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                if let Some(long) = option.get_long() {
                    let is_there = text.lines().any(|line| {
                        let mut words = line.split([' ', ',']);
                        words.any(|word| word.strip_prefix("--") == Some(long))
                    });
                    assert!(is_there, "{} lacks --{long}", page.name);
                }
            }
            let after = command.get_after_long_help().map(ToString::to_string);
            for heading in ["Examples", "Exit status", "Environment"] {
                let is_written = after
                    .iter()
                    .any(|after| after.contains(&format!("{heading}:")));
                let section = format!(".SH \"{}\"", heading.to_uppercase());
                let one_word = section.replace('"', "");
                let is_there = text.contains(&section) || text.lines().any(|line| line == one_word);
                assert_eq!(is_there, is_written, "{}: {heading}", page.name);
            }
            assert!(text.contains("SEE ALSO"), "{}", page.name);
        }
    }

    #[test]
    fn terms_have_their_descriptions_and_a_control_character_is_escaped() {
        let text = "Examples:\n  first\n  second -x\n          .does two\n          things\n\nExit \
                    status: 0 success.\n\nA paragraph about a thing: plain text.";
        let expected = ".SH EXAMPLES\n.TP\n\\fBfirst\\fR\n.TP\n\\fBsecond \\-x\\fR\n\\&.does two\n.br\n\
                        things\n.SH \"EXIT STATUS\"\n0 success.\n.PP\nA paragraph about a thing: plain text.\n";
        assert_eq!(
            sections(text).render().split_once(".SH").unwrap().1,
            expected.split_once(".SH").unwrap().1
        );
    }
}
