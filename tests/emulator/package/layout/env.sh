#!/bin/sh
# Writes the PATH that jobs get into .path.
echo "$PATH" > .path
