//! Receipts as rows of a database hold them.

use notekeeper_domain::Operation;

use crate::{MutationError, Receipt, ReceiptStatus, StoreError, counts::token};

/// How a mutation ended, apart from faults of the database.
pub(crate) type Outcome = Result<Receipt, MutationError>;

/// A receipt as it was found.
#[derive(Debug)]
pub(crate) struct KeptReceipt<'r> {
    pub(crate) fingerprint: &'r str,
    pub(crate) status: &'r str,
    /// Missing for a deletion.
    pub(crate) version: Option<i64>,
    pub(crate) existed: bool,
}

impl KeptReceipt<'_> {
    /// The answer to a repetition of its operation.
    pub(crate) fn answer(&self, operation: &Operation) -> Result<Outcome, StoreError> {
        if self.fingerprint != operation.fingerprint.as_str() {
            return Ok(Err(MutationError::OperationConflict));
        }
        let status = ReceiptStatus::from_code(self.status)
            .ok_or_else(|| StoreError::Unexpected("a receipt has an unknown status".to_owned()))?;
        Ok(Ok(Receipt {
            status,
            version: self.version.map(token),
            chars: None,
            existed: self.existed,
            replayed: true,
        }))
    }
}
