//! Receipts as rows of a database hold them.

use notekeeper_domain::Operation;

use crate::{
    ChunksKept, FactForgotten, FactKept, MessagesAdded, MessagesCleared, MutationError, Receipt,
    ReceiptStatus, StoreError,
    counts::{position_of, token},
};

/// How a mutation ended, apart from faults of the database.
pub(crate) type Outcome<T = Receipt> = Result<T, MutationError>;

/// What the receipt of added messages says of itself.
const ADDED: &str = "added";
/// What the receipt of a cleared conversation says of itself.
const CLEARED: &str = "cleared";
/// What the receipt of a remembered fact says of itself.
const REMEMBERED: &str = "remembered";
/// What the receipt of a forgotten fact says of itself, and of one that wasn't there.
const FORGOTTEN: &str = "forgotten";
/// What the receipt of kept chunks says of itself.
const KEPT: &str = "kept";

/// A receipt as it was found.
#[derive(Debug)]
pub(crate) struct KeptReceipt<'r> {
    pub(crate) fingerprint: &'r str,
    pub(crate) status: &'r str,
    /// Missing for all that leave no note.
    pub(crate) version: Option<i64>,
    pub(crate) existed: bool,
    /// The positions that were added or cleared; missing for all else.
    pub(crate) range: Option<(i64, i64)>,
}

/// What one kind of mutation comes to.
pub(crate) trait OfReceipt: Sized + Send {
    /// The answer to a repetition; `None` where the receipt is another kind's.
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self>;
}

impl KeptReceipt<'_> {
    /// The answer to a repetition of its operation.
    pub(crate) fn answer<T: OfReceipt>(
        &self,
        operation: &Operation,
    ) -> Result<Outcome<T>, StoreError> {
        if self.fingerprint != operation.fingerprint.as_str() {
            return Ok(Err(MutationError::OperationConflict));
        }
        if let Some(answer) = T::of_receipt(self) {
            return Ok(Ok(answer));
        }
        if self.is_known() {
            return Ok(Err(MutationError::OperationConflict));
        }
        Err(StoreError::Unexpected(
            "a receipt has an unknown status".to_owned(),
        ))
    }

    fn is_known(&self) -> bool {
        let others = [ADDED, CLEARED, REMEMBERED, FORGOTTEN, KEPT];
        others.contains(&self.status) || ReceiptStatus::from_code(self.status).is_some()
    }

    /// The range that the operation changed, where it is of this kind.
    fn range_of(&self, status: &str) -> Option<(u64, u64)> {
        let (first, next) = self.range.filter(|_| self.status == status)?;
        Some((position_of(first), position_of(next)))
    }
}

impl OfReceipt for Receipt {
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self> {
        Some(Self {
            status: ReceiptStatus::from_code(receipt.status)?,
            version: receipt.version.map(token),
            chars: None,
            existed: receipt.existed,
            replayed: true,
        })
    }
}

impl OfReceipt for MessagesAdded {
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self> {
        let (first, next) = receipt.range_of(ADDED)?;
        Some(Self {
            first,
            next,
            replayed: true,
        })
    }
}

impl OfReceipt for MessagesCleared {
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self> {
        let (first, next) = receipt.range_of(CLEARED)?;
        Some(Self {
            first,
            next,
            replayed: true,
        })
    }
}

impl OfReceipt for FactKept {
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self> {
        (receipt.status == REMEMBERED).then_some(Self {
            existed: receipt.existed,
            replayed: true,
        })
    }
}

impl OfReceipt for FactForgotten {
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self> {
        (receipt.status == FORGOTTEN).then_some(Self {
            existed: receipt.existed,
            replayed: true,
        })
    }
}

impl OfReceipt for ChunksKept {
    fn of_receipt(receipt: &KeptReceipt<'_>) -> Option<Self> {
        (receipt.status == KEPT).then_some(Self { replayed: true })
    }
}
