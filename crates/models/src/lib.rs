//! Ports for models.
