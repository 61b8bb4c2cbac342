//! Resolvers of write metadata that the file defines, by name.

use std::collections::BTreeMap;

use anyhow::Context as _;

use crate::metadata_template::MetadataTemplate;

use super::File;

/// Texts by name.
pub(crate) type MetadataSection = BTreeMap<String, String>;

impl File {
    /// The resolvers of write metadata by name.
    pub(crate) fn metadata(&self) -> anyhow::Result<BTreeMap<String, MetadataTemplate>> {
        let sections = self.metadata.iter();
        let templates = sections.map(|(name, section)| {
            let template = MetadataTemplate::parse(section);
            let template = template.with_context(|| format!("[metadata.{name}]"))?;
            Ok((name.clone(), template))
        });
        templates.collect()
    }
}
