"""Character cards and lorebooks of other programs: their files read and written without loss."""
