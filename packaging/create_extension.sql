-- Run by the image in the database that it creates.
CREATE EXTENSION bloomx;
