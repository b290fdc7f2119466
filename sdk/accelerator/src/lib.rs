//! Avro's binary encoding for counterfoil's serializers.
//!
//! `Encoder` and `Decoder` are made of the same plans as the generated Python code, which `counterfoil.sdk` flattens into
//! nodes (its module `serde/avro/coders.py`). They handle the usual values and valid data. Everything else, from a value
//! of a subclass to damaged bytes, is left to the Python code, which they call as `fallback` with the same arguments:
//! it returns the result or raises the error, so that both have one meaning.

mod calls;
mod columns;
mod conversion;
mod decoder;
mod encoder;
mod json;
mod message;
mod nodes;
mod outcome;

use pyo3::prelude::*;

/// The extension module.
#[pymodule(gil_used = false)]
mod counterfoil_accelerator {
    #[pymodule_export]
    use super::calls::{DeserializerCall, SerializerCall};
    #[pymodule_export]
    use super::columns::Columns;
    #[pymodule_export]
    use super::decoder::Decoder;
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::json::{JsonDecoder, JsonEncoder};

    /// The version of the nodes; `counterfoil.sdk` uses only the version that it was written for.
    #[pymodule_export]
    const INTERFACE: u32 = 4;
}
