//! Options of `vectored completions`.

use clap::Args;
use clap_complete::Shell;

pub const COMPLETIONS_ABOUT: &str = "\
Print a script that completes the options of vectored in a shell

The Debian package installs these scripts.";

pub const COMPLETIONS_AFTER: &str = "\
Examples:
  vectored completions bash > ~/.local/share/bash-completion/completions/vectored
          For bash with the package bash-completion: from the next shell on
  vectored completions zsh > ~/.zfunc/_vectored
          For zsh, if ~/.zshrc has 'fpath+=~/.zfunc' before 'compinit'
  vectored completions fish > ~/.config/fish/completions/vectored.fish
          For fish: at once

Exit status: 0 success, 1 failure, 2 wrong usage.";

/// Options of `vectored completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}
