"""What gblint has to know of the code of the shop."""
