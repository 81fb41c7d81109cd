//! Generates the stubs. The descriptor set is the proto compiled, with all that
//! it imports, so neither protoc nor Google's protos are needed.

use prost::Message;
use prost_types::FileDescriptorSet;
use std::{error::Error, fs};

const DESCRIPTORS: &str = "catalog.binpb";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DESCRIPTORS}");
    let descriptors = FileDescriptorSet::decode(fs::read(DESCRIPTORS)?.as_slice())?;
    tonic_prost_build::configure()
        .build_client(false)
        .include_file("protos.rs")
        .compile_fds(descriptors)?;
    Ok(())
}
