//! Options of `vectored man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

const AFTER: &str = "\
Examples:
  vectored man
          The page of the program, vectored(1)
  vectored man measure
          The page of 'vectored measure', vectored-measure(1)
  vectored man --dir ~/.local/share/man/man1
          Install all pages, for a user who has no package of vectored

Exit status: 0 success, 1 failure, 2 wrong usage; on a terminal that of man(1).";

/// Show the manual page of vectored or of a subcommand
///
/// On a terminal, man(1) shows the page. Otherwise the page is printed as roff(7), which man(1) and groff(1) read.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct ManArgs {
    /// The subcommand whose page to show; by default the page of the program
    #[arg(value_name = "SUBCOMMAND")]
    pub subcommand: Option<String>,

    /// Write all pages into this directory, which is made if it does not exist
    ///
    /// Pages that exist are replaced.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "subcommand", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
