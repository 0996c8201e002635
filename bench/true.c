/* The smallest command: what is measured around it is not its own. Static. */
int main(void)
{
	return 0;
}
