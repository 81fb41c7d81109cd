//! Generates the stubs from the committed descriptor set, so no protoc is needed.

use prost::Message;
use prost_types::FileDescriptorSet;
use std::{error::Error, fs};

const DESCRIPTORS: &str = "../../../gen/plantstore.binpb";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DESCRIPTORS}");
    let descriptors = FileDescriptorSet::decode(fs::read(DESCRIPTORS)?.as_slice())?;
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(descriptors)?;
    Ok(())
}
