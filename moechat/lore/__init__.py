"""What an entry of a world book may ask of the talk: the nouns of its rules."""
