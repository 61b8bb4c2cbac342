//! What is in the file, and how it changes. Nothing here waits or reads a disk.

use std::collections::BTreeMap;

use notekeeper_domain::{NoteName, Operation, Scope, Version};
use notekeeper_store::{Expected, MutationError, Receipt, ReceiptStatus, StoreError};
use serde::{Deserialize, Serialize};

/// All notes and receipts, by scope.
///
/// A scope's path is the whole key: `acme` has nothing to do with `acme/main`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Shelf {
    /// Counts up over the whole shelf, so that no version ever comes back.
    last_version: u64,
    scopes: BTreeMap<String, Compartment>,
}

/// What belongs to one scope.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Compartment {
    /// In the order of bytes, which is that of code points.
    pub(crate) notes: BTreeMap<String, Note>,
    receipts: BTreeMap<String, KeptReceipt>,
}

/// A note.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) content: String,
    version: u64,
    pub(crate) operation_id: Option<String>,
}

impl Note {
    /// As callers see it: text that they compare and don't read.
    pub(crate) fn version(&self) -> Version {
        Version::new(self.version.to_string())
    }
}

/// The whole result of an operation, and what tells it from another with its id.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptReceipt {
    fingerprint: String,
    status: String,
    version: Option<u64>,
    existed: bool,
}

/// What a mutation asks for.
pub(crate) struct Change {
    pub(crate) scope: Scope,
    pub(crate) name: NoteName,
    pub(crate) expected: Expected,
    pub(crate) operation: Option<Operation>,
    /// The new text; `None` to delete.
    pub(crate) content: Option<String>,
    /// What the receipt says where there was no note.
    pub(crate) status_if_absent: ReceiptStatus,
    /// What it says where there was one.
    pub(crate) status_if_present: ReceiptStatus,
}

impl Shelf {
    pub(crate) fn compartment(&self, scope: &Scope) -> Option<&Compartment> {
        self.scopes.get(scope.as_str())
    }

    /// A note, with the scope that it stands under here.
    pub(crate) fn note(&self, scope: &Scope, name: &NoteName) -> Option<(&str, &Note)> {
        let (own, within) = self.scopes.get_key_value(scope.as_str())?;
        Some((own, within.notes.get(name.as_str())?))
    }

    /// The receipt of an operation, if it has one.
    pub(crate) fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        let kept = self
            .compartment(scope)
            .and_then(|within| within.receipts.get(operation.id.as_str()));
        let Some(kept) = kept else { return Ok(None) };
        if kept.fingerprint != operation.fingerprint.as_str() {
            return Err(MutationError::OperationConflict);
        }
        let status = ReceiptStatus::from_code(&kept.status)
            .ok_or_else(|| StoreError::Unexpected("a receipt has an unknown status".to_owned()))?;
        Ok(Some(Receipt {
            status,
            version: kept
                .version
                .map(|version| Version::new(version.to_string())),
            chars: None,
            existed: kept.existed,
            replayed: true,
        }))
    }

    /// Makes a change, in the order that every store keeps: the receipt answers before anything else
    /// is looked at, then the caller's expectation, then note and receipt together.
    pub(crate) fn change(&mut self, change: Change) -> Result<Receipt, MutationError> {
        if let Some(operation) = &change.operation
            && let Some(receipt) = self.receipt(&change.scope, operation)?
        {
            return Ok(receipt);
        }
        let next_version = self.last_version + 1;
        let scope = change.scope.as_str().to_owned();
        let within = self.scopes.entry(scope).or_default();
        let name = change.name.as_str();
        let current = within.notes.get(name).map(Note::version);
        if !change.expected.is_met_by(current.as_ref()) {
            return Err(MutationError::VersionConflict);
        }
        let existed = current.is_some();
        let status = match existed {
            true => change.status_if_present,
            false => change.status_if_absent,
        };
        let version = change.content.as_ref().map(|_| next_version);
        let chars = change.content.as_ref().map(|text| text.chars().count());
        match change.content {
            Some(content) => {
                let note = Note {
                    content,
                    version: next_version,
                    operation_id: change.operation.as_ref().map(|o| o.id.as_str().to_owned()),
                };
                within.notes.insert(name.to_owned(), note);
                self.last_version = next_version;
            }
            None => drop(within.notes.remove(name)),
        }
        if let Some(operation) = change.operation {
            let kept = KeptReceipt {
                fingerprint: operation.fingerprint.as_str().to_owned(),
                status: status.code().to_owned(),
                version,
                existed,
            };
            within
                .receipts
                .insert(operation.id.as_str().to_owned(), kept);
        }
        Ok(Receipt {
            status,
            version: version.map(|version| Version::new(version.to_string())),
            chars,
            existed,
            replayed: false,
        })
    }
}
