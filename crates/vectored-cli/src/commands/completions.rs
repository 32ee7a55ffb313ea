//! `vectored completions`.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::generate;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::terminal::print;

pub fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "vectored", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
