//! What a person's write records beside the text.

use clap::Args;
use notekeeper_contract::MetadataSource;
use notekeeper_domain::WriteMetadata;

use crate::output::UsageError;

/// What a write records beside the text.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(super) struct MetadataArgs {
    /// Record this with the write, such as `updated_by=ui`; repeat it for more. It replaces what an
    /// earlier write recorded, and without it nothing is recorded.
    #[arg(long, value_name = "KEY=VALUE", value_parser = entry)]
    metadata: Vec<(String, String)>,
}

impl MetadataArgs {
    /// What is to be recorded, if it can be.
    pub(super) fn checked(self) -> anyhow::Result<Option<WriteMetadata>> {
        let given = self.metadata.len();
        let entries: std::collections::BTreeMap<_, _> = self.metadata.into_iter().collect();
        if entries.len() < given {
            return Err(UsageError(
                "--metadata gives one key twice; leave one of them out".to_owned(),
            )
            .into());
        }
        let checked = WriteMetadata::new(entries);
        Ok(checked.map_err(|error| UsageError(format!("--metadata: {error}")))?)
    }
}

fn entry(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("give a key and a value with `=` between, such as `updated_by=ui`".to_owned()),
    }
}

/// The same as activities take it.
pub(super) fn fixed(metadata: WriteMetadata) -> MetadataSource {
    MetadataSource::Fixed(metadata.into_entries())
}
