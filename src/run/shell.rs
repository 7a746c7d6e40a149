//! `completions` and `man`: made from the same description of the command line as its help; `steward-kit`: its page.

use clap::CommandFactory as _;
use serde_json::json;

use super::Answer;
use crate::cli::{Cli, ExitCode, Failure, Format};
use crate::outputs::steward::KIT;
use crate::outputs::verbs::document;

/// The completion script of a shell.
pub(super) fn completions(cli: &Cli, shell: clap_complete::Shell) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pool-review", &mut script);
    answer(cli, &script, |script| document("completions", json!({ "shell": shell.to_string(), "script": script })))
}

/// The manual page: the program, then each verb.
pub(super) fn man(cli: &Cli) -> Result<Answer, Failure> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let verbs = command.get_subcommands().cloned().collect::<Vec<_>>();
    let render = || -> std::io::Result<()> {
        clap_mangen::Man::new(command).render(&mut page)?;
        for verb in verbs {
            let title = verb.get_name().to_uppercase();
            let man = clap_mangen::Man::new(verb);
            page.extend_from_slice(format!(".SH \"{title}\"\n").as_bytes());
            man.render_description_section(&mut page)?;
            man.render_options_section(&mut page)?;
        }
        Ok(())
    };
    render().map_err(|error| Failure::Failed(error.into()))?;
    Ok(answer(cli, &page, |page| document("man", json!({ "page": page }))))
}

/// The instruction for a steward agent.
pub(super) fn steward_kit(cli: &Cli) -> Answer {
    answer(cli, KIT.as_bytes(), |page| document("steward-kit", json!({ "page": page })))
}

/// Bytes of text as an answer, or the document that holds them.
fn answer(cli: &Cli, bytes: &[u8], document: impl Fn(&str) -> String) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = if cli.format == Format::Json { document(&text) } else { text };
    Answer { text, warnings: Vec::new(), code: ExitCode::Finished }
}
