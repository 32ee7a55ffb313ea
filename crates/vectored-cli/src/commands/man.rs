//! `vectored man`.

use std::fs;
use std::io::{self, IsTerminal};
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::{Man, generate_to};

use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use crate::terminal::print;

pub fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let mut program = Cli::command().disable_help_subcommand(true);
    if let Some(directory) = &args.dir {
        fs::create_dir_all(directory)
            .and_then(|()| generate_to(program, directory))
            .with_context(|| format!("cannot write the pages to '{}'", directory.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    program.build();
    let command = match args.subcommand.as_deref() {
        None => &program,
        // The argument may also be the full name of a page.
        Some(name) => program
            .find_subcommand(name.trim_start_matches("vectored-"))
            .ok_or_else(|| {
                let names = program.get_subcommands().map(clap::Command::get_name);
                Failure::usage(format!(
                    "there is no subcommand '{name}'; the subcommands are {}",
                    names.collect::<Vec<_>>().join(", ")
                ))
            })?,
    };
    let page = Man::new(command.clone());
    if io::stdout().is_terminal() {
        return show(&page);
    }
    let mut roff = Vec::new();
    page.render(&mut roff).context("cannot make the page")?;
    print(&String::from_utf8_lossy(&roff))?;
    Ok(ExitCode::SUCCESS)
}

fn show(page: &Man) -> Result<ExitCode, Failure> {
    let directory = tempfile::tempdir().context("cannot make a directory for the page")?;
    let path = page
        .generate_to(directory.path())
        .context("cannot write the page to a temporary file")?;
    // man(1) takes an argument with a slash as a file.
    let status = Command::new("man").arg(&path).status().map_err(|error| {
        anyhow::anyhow!(
            "cannot run man: {error}; 'vectored help' has the same text, and 'vectored man | cat' \
             prints the page as roff"
        )
    })?;
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(windows)]
    let signal = None;
    let code = status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
