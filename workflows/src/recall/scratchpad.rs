//! The scratchpad: values by key in the workflow's own state.

use std::collections::BTreeMap;

use notekeeper_domain::{Item, Where, scratchpad_items, scratchpad_value};
use serde_json::Value;

use super::Recall;

/// Name of the source that items of the scratchpad carry.
const SCRATCHPAD: &str = "scratchpad";

impl Recall {
    /// Puts a value into the scratchpad, in the place of one of the same key. From then on it travels with
    /// every query, so keep there what is short.
    pub fn put(&self, key: impl Into<String>, value: impl Into<Value>) {
        let mut scratchpad = self.inner.scratchpad.borrow_mut();
        scratchpad.insert(key.into(), value.into());
    }

    /// Puts what a source has for the scratchpad.
    pub(super) fn put_written(&self, key: String, written: Value) {
        let mut scratchpad = self.inner.scratchpad.borrow_mut();
        let value = scratchpad_value(scratchpad.get(&key), written);
        scratchpad.insert(key, value);
    }

    /// Takes a value out of the scratchpad, if it is there.
    pub fn remove(&self, key: &str) -> Option<Value> {
        self.inner.scratchpad.borrow_mut().remove(key)
    }

    /// What the scratchpad holds. A run that continues as new hands it over in its input, and the next one
    /// puts it back.
    pub fn scratchpad(&self) -> BTreeMap<String, Value> {
        self.inner.scratchpad.borrow().clone()
    }

    /// The entries of the scratchpad that have a word of the text, ascending by key: at most `k`, and under
    /// these conditions. For an empty text every entry matches. No activity is scheduled.
    ///
    /// ```
    /// use notekeeper_workflows::{OpenError, RecallSettings, Session, domain::Where};
    ///
    /// let recall = Session::new().recall(RecallSettings::default(), &(), |()| "acme")?;
    /// recall.put("customer", "Ada");
    /// let found = recall.query_scratchpad("who is the Customer?", 5, &Where::default());
    /// assert_eq!(found[0].content, "customer: Ada");
    /// # Ok::<(), OpenError>(())
    /// ```
    pub fn query_scratchpad(&self, text: &str, k: usize, condition: &Where) -> Vec<Item> {
        let scratchpad = self.inner.scratchpad.borrow();
        scratchpad_items(SCRATCHPAD, &scratchpad, text, condition, k)
    }
}
