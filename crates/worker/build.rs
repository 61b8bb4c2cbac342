//! Writes the descriptors of history events, with which JSON of other tools is read.
//!
//! The SDK's descriptors are of all services and hold each comment: 1.3 MB. What a history event
//! is made of, without comments, is 0.1 MB.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
    fs,
    path::PathBuf,
};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

/// Where `temporalio-protos` says that its descriptors are.
const DESCRIPTORS: &str = "DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH";

/// The file that defines what is read.
const ROOT: &str = "temporal/api/history/v1/message.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let path = env::var(DESCRIPTORS)?;
    println!("cargo::rerun-if-changed={path}");
    let all = FileDescriptorSet::decode(&*fs::read(path)?)?;
    let by_name: BTreeMap<_, _> = all.file.iter().map(|file| (file.name(), file)).collect();
    let mut needed = BTreeSet::new();
    need(ROOT, &by_name, &mut needed)?;
    let trimmed = FileDescriptorSet {
        file: needed.iter().map(|name| bare(by_name[name])).collect(),
    };
    let target = PathBuf::from(env::var("OUT_DIR")?).join("history.fds");
    fs::write(target, trimmed.encode_to_vec())?;
    Ok(())
}

/// Adds a file and those that it imports.
fn need<'a>(
    name: &'a str,
    by_name: &BTreeMap<&'a str, &'a FileDescriptorProto>,
    needed: &mut BTreeSet<&'a str>,
) -> Result<(), Box<dyn Error>> {
    let file = by_name
        .get(name)
        .ok_or_else(|| format!("the SDK's descriptors have no `{name}`"))?;
    if needed.insert(name) {
        for import in &file.dependency {
            need(import, by_name, needed)?;
        }
    }
    Ok(())
}

/// The file without its comments and services.
fn bare(file: &FileDescriptorProto) -> FileDescriptorProto {
    FileDescriptorProto {
        source_code_info: None,
        service: Vec::new(),
        ..file.clone()
    }
}
