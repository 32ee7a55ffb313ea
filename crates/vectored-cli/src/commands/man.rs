//! `vectored man`.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::args::ManArgs;
use crate::atomic_file::replace;
use crate::failure::Failure;
use crate::manual::{Page, pages};
use crate::terminal::print;

/// Shows a page, or writes all of them.
pub fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let pages = pages();
    if let Some(directory) = &args.dir {
        write_all(&pages, directory)?;
        return Ok(ExitCode::SUCCESS);
    }
    let page = match &args.subcommand {
        None => &pages[0],
        Some(name) => find(&pages, name)?,
    };
    if io::stdout().is_terminal() {
        show(page)
    } else {
        print(&page.roff)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The page of a subcommand. The name of the page is accepted as well.
fn find<'a>(pages: &'a [Page], name: &str) -> Result<&'a Page, Failure> {
    let wanted = format!("vectored-{name}");
    let mut all = pages.iter();
    all.find(|page| page.name == wanted || page.name == name)
        .ok_or_else(|| {
            let names = pages
                .iter()
                .filter_map(|page| page.name.strip_prefix("vectored-"));
            let names: Vec<&str> = names.collect();
            Failure::usage(format!(
                "there is no subcommand '{name}'; the subcommands are {}",
                names.join(", ")
            ))
        })
}

fn write_all(pages: &[Page], directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory '{}'", directory.display()))?;
    for page in pages {
        let path = directory.join(page.file_name());
        replace(&path, &page.roff).with_context(|| format!("cannot write '{}'", path.display()))?;
    }
    Ok(())
}

/// Passes the page to man(1), which pages it.
fn show(page: &Page) -> Result<ExitCode, Failure> {
    let directory = tempfile::tempdir().context("cannot make a directory for the page")?;
    let path = directory.path().join(page.file_name());
    fs::write(&path, &page.roff).context("cannot write the page to a temporary file")?;
    // With a slash in its name it is a file and not the name of a page.
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
